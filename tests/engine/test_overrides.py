"""Composed overrides in vLLM's own configuration path, on transformers' own configs."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from presets import ContradictionError, merge

pytestmark = pytest.mark.engine

TEXT = {
    "model_type": "gemma3_text",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "vocab_size": 512,
    "max_position_embeddings": 256,
    "sliding_window": 32,
}
COMPOSITE = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "text_config": TEXT,
    "vision_config": {
        "model_type": "siglip_vision_model",
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
    },
    "torch_dtype": "float32",
}
FLAT = {**TEXT, "architectures": ["SomethingElse"], "torch_dtype": "float32"}
CALLS: list[str] = []


def halve(config: Any) -> Any:
    """As users write them: touches what only the real config has."""
    CALLS.append(config.model_type)
    config.text_config.num_hidden_layers = 1
    return config


def undo(config: Any) -> Any:
    config.architectures = ["LlamaForCausalLM"]
    return config


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    CALLS.clear()


def model_config(folder: Path, config: dict[str, Any], hf_overrides: Any) -> Any:
    from vllm.engine.arg_utils import EngineArgs

    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    arguments = EngineArgs(
        model=str(folder), skip_tokenizer_init=True, dtype="float32", hf_overrides=hf_overrides
    )
    return arguments.create_model_config()


def compose(overrides: dict[str, Any], then: Any, essential: list[str]) -> Any:
    from presets.preset import Preset
    from presets.schema import KwargsBlock, PresetFile

    file = PresetFile(
        name="demo",
        family="demo",
        summary="A preset for tests.",
        vllm=">=0.13.0",
        essential=essential,
        sources=[],
        when=[],
        kwargs=[KwargsBlock(vllm=">=0.13.0", engine={"hf_overrides": overrides})],
        claims=[],
    )
    return merge(Preset(file, "0.32.0"), {"hf_overrides": then})["hf_overrides"]


def test_a_callable_that_needs_the_real_config_survives_the_dummy(tmp_path: Path) -> None:
    overrides = {"text_config": {"sliding_window": 16}, "extra_key": 7}
    composed = compose(overrides, halve, ["hf_overrides.text_config.sliding_window"])
    config = model_config(tmp_path, COMPOSITE, composed)
    assert CALLS == ["dummy_gemma3", "gemma3"]
    assert config.hf_config.text_config.num_hidden_layers == 1
    assert config.hf_config.text_config.sliding_window == 16
    assert config.hf_config.text_config.vocab_size == TEXT["vocab_size"]
    assert config.hf_config.extra_key == 7


def test_the_callable_alone_fails_on_the_dummy(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="text_config"):
        model_config(tmp_path, COMPOSITE, halve)


def test_the_mapping_does_in_a_callable_what_vllm_does_with_it(tmp_path: Path) -> None:
    overrides = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "text_config": {
            "sliding_window": 16,
            "rope_parameters": {"full_attention": {"factor": 2.0}},
        },
        "vocab_size": 99,
    }
    composed = compose(overrides, _same, ["hf_overrides.architectures"])
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    by_vllm = model_config(tmp_path / "a", COMPOSITE, overrides).hf_config.to_dict()
    by_us = model_config(tmp_path / "b", COMPOSITE, composed).hf_config.to_dict()
    assert {k: v for k, v in by_us.items() if k != "_name_or_path"} == {
        k: v for k, v in by_vllm.items() if k != "_name_or_path"
    }
    assert by_us["text_config"]["sliding_window"] == 16


def test_the_presets_class_is_what_vllm_resolves(tmp_path: Path) -> None:
    composed = compose(
        {"architectures": ["Gemma3ForCausalLM"]}, _same, ["hf_overrides.architectures"]
    )
    config = model_config(tmp_path, FLAT, composed)
    assert config.architectures == ["Gemma3ForCausalLM"]
    assert config.registry.is_text_generation_model(config.architectures, config)


def test_a_callable_that_undoes_the_preset_is_refused_by_the_time_vllm_has_the_config(
    tmp_path: Path,
) -> None:
    composed = compose(
        {"architectures": ["Gemma3ForCausalLM"]}, undo, ["hf_overrides.architectures"]
    )
    with pytest.raises(ContradictionError, match="'demo' needs"):
        model_config(tmp_path, FLAT, composed)


def test_a_model_config_with_it_can_be_sent_to_a_worker(tmp_path: Path) -> None:
    composed = compose(
        {"architectures": ["Gemma3ForCausalLM"]}, _same, ["hf_overrides.architectures"]
    )
    twin = pickle.loads(pickle.dumps(model_config(tmp_path, FLAT, composed)))
    assert twin.hf_overrides == composed


def _same(config: Any) -> Any:
    return config
