"""What the plugin puts into vLLM's arguments; ``tests/engine/test_plugin.py`` asks vLLM itself."""

import dataclasses
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

import presets
from presets import ContradictionError, FaultError, GuardError, UnknownNameError, plugin
from presets.registry import consumer

TEXT = {"architectures": ["Gemma4ForCausalLM"]}


@dataclasses.dataclass
class Args:
    """The fields of ``EngineArgs`` that are asked for here, with vLLM's defaults."""

    model: str = "org/name"
    revision: str | None = None
    hf_overrides: Any = dataclasses.field(default_factory=dict)
    language_model_only: bool = False
    trust_remote_code: bool = False
    distributed_executor_backend: str | None = None
    quantization: str | None = None


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "_version", lambda: "0.32.0")


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Any:
    def into(args: Args, names: str, consumer: str = "") -> Args:
        monkeypatch.setenv("VLLM_PRESET", names)
        monkeypatch.setenv("VLLM_PRESET_CONSUMER", consumer)
        plugin.apply(args)
        return args

    return into


@pytest.fixture
def text_only(tmp_path: Path) -> Path:
    """A Gemma 4 that has lost its towers."""
    config = {"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4"}
    sub = {"text_config": {}, "vision_config": {}}
    (tmp_path / "config.json").write_text(json.dumps({**config, **sub}))
    (tmp_path / "tokenizer.json").write_text("{}")
    header = b'{"model.language_model.norm.weight":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"0")
    return tmp_path


def test_a_preset_is_applied_and_the_log_says_to_what_and_why(put: Any, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "vllm.presets"):
        args = put(Args(), "gemma4-text")
    assert args == Args(hf_overrides=TEXT)
    (line,) = caplog.messages
    assert line == (
        f"presets: org/name: applied gemma4-text (VLLM_PRESET=gemma4-text): hf_overrides={TEXT!r}"
    )


def test_several(put: Any) -> None:
    args = put(Args(), "gemma4-text, multimodal-text-only")
    assert args == Args(hf_overrides=TEXT, language_model_only=True)


def test_what_was_set_stays_and_is_named(put: Any, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "vllm.presets"):
        args = put(Args(hf_overrides={"rope_theta": 1.0}), "gemma4-text")
    assert args.hf_overrides == {**TEXT, "rope_theta": 1.0}
    args = put(Args(hf_overrides=dict(TEXT)), "gemma4-text")
    assert args == Args(hf_overrides=TEXT)
    assert len(caplog.messages) == 1  # nothing had to be done for the second


def test_a_contradiction_names_both(put: Any) -> None:
    mine = {"architectures": ["Other"]}
    with pytest.raises(ContradictionError, match=r"'gemma4-text' needs .*Gemma4.* you set .*Other"):
        put(Args(hf_overrides=mine), "gemma4-text")


def test_a_callable_of_the_users_comes_after(put: Any) -> None:
    args = put(Args(hf_overrides=lambda config: config), "gemma4-text")
    assert args.hf_overrides.overrides == TEXT


def test_the_consumers_guards(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trl = consumer("trl-colocate")
    guard = msgspec.structs.replace(trl.guards[0], key="language_model_only")
    profiles = {"trl-colocate": msgspec.structs.replace(trl, guards=[guard])}
    monkeypatch.setattr(plugin, "consumer", profiles.__getitem__)
    put(Args(distributed_executor_backend="external_launcher"), "multimodal-text-only")
    with pytest.raises(GuardError, match="trl-colocate"):
        put(Args(), "multimodal-text-only", "trl-colocate")
    monkeypatch.setitem(sys.modules, "trl", ModuleType("trl"))
    put(Args(), "multimodal-text-only")  # an engine of somebody else's, in the same process
    with pytest.raises(GuardError, match="trl-colocate"):
        put(Args(distributed_executor_backend="external_launcher"), "multimodal-text-only")


def test_a_fault_or_a_mistake_is_an_error(put: Any) -> None:
    with pytest.raises(FaultError, match="empty-tensors"):
        put(Args(), "empty-tensors")
    with pytest.raises(UnknownNameError, match="gemma4-text"):
        put(Args(), "gemma4-txt")


def test_auto_is_what_the_check_advises(put: Any, text_only: Path, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "vllm.presets"):
        assert put(Args(str(text_only)), "auto").hf_overrides == TEXT
    assert "no vision weights were saved" in caplog.text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "damaged-weights"),
        (lambda folder: (folder / "config.json").unlink(), "No such file"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "llama"}'), "nothing"),
    ],
    ids=["fault", "unreadable", "unknown"],
)
def test_auto_does_nothing_where_it_is_not_sure(
    put: Any, text_only: Path, caplog: Any, change: Any, said: str
) -> None:
    change(text_only)
    with caplog.at_level(logging.INFO, "vllm.presets"):
        assert put(Args(str(text_only)), "auto") == Args(str(text_only))
    assert said in caplog.text


def test_auto_leaves_a_contradiction_alone(put: Any, text_only: Path, caplog: Any) -> None:
    mine = {"architectures": ["Other"]}
    args = put(Args(str(text_only), hf_overrides=mine), "auto")
    assert args == Args(str(text_only), hf_overrides=mine)
    assert "nothing applied" in caplog.text


def test_once_an_instance(put: Any, caplog: Any) -> None:
    args = put(Args(), "gemma4-text")
    args.hf_overrides = {}  # whoever does this afterwards has the last word
    assert put(args, "gemma4-text").hf_overrides == {}


def test_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "install", lambda: None)
    monkeypatch.setenv("VLLM_PRESET", "auto")
    monkeypatch.delenv("VLLM_PRESET_CONSUMER", raising=False)
    with presets.applied("gemma4-text", "no-tokenizer", consumer="llm"):
        assert os.environ["VLLM_PRESET"] == "gemma4-text,no-tokenizer"
        assert os.environ["VLLM_PRESET_CONSUMER"] == "llm"
    assert os.environ["VLLM_PRESET"] == "auto"
    assert "VLLM_PRESET_CONSUMER" not in os.environ


def test_a_mistake_is_an_error_at_once() -> None:
    with pytest.raises(UnknownNameError), presets.applied("gemma4-txt"):
        pass


def test_without_the_variable_nothing_is_imported_in_5_ms() -> None:
    code = (
        "import time; start = time.perf_counter()\n"
        "import vllm_presets_plugin; vllm_presets_plugin.register()\n"
        "print(time.perf_counter() - start)\n"
        "import sys; assert 'presets' not in sys.modules"
    )
    environment = {k: v for k, v in os.environ.items() if k != "VLLM_PRESET"}
    best = min(
        float(
            subprocess.run(
                [sys.executable, "-c", code],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for _ in range(3)
    )
    assert best < 0.005
