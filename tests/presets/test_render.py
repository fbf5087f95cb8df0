"""Kwargs in the form a consumer takes; ``tests/engine`` has vLLM's own parser read the flags."""

import ast
import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from presets import KwargsError
from presets.registry import consumer
from presets.render import as_flags, as_json, as_keywords, render

NEWEST = "0.32.0"
SKYRL = "generator.inference_engine.engine_init_kwargs"
KWARGS = {
    "hf_overrides": {"architectures": ["Gemma4ForCausalLM"]},
    "language_model_only": True,
    "enable_prefix_caching": False,
    "dtype": "float32",
    "max_model_len": 64,
}


def test_keywords_paste_into_a_call() -> None:
    assert eval(f"dict({as_keywords(KWARGS)})") == KWARGS


def test_json_reads_back() -> None:
    assert json.loads(as_json(KWARGS)) == KWARGS
    assert as_json({}) == "{}"


def test_flags_are_quoted_and_spelt_one_way() -> None:
    assert as_flags(KWARGS, NEWEST) == (
        """--hf-overrides '{"architectures": ["Gemma4ForCausalLM"]}' --language-model-only """
        "--no-enable-prefix-caching --dtype float32 --max-model-len 64"
    )


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"max_logprobs": -1}, ["--max-logprobs=-1"]),
        ({"served_model_name": ["a", "b c"]}, ["--served-model-name", "a", "b c"]),
        ({"offload_params": {"b", "a"}}, ["--offload-params", "a", "b"]),
        ({"quantization": None}, []),
        ({"disable_log_stats": False}, []),
        ({"disable_log_stats": True}, ["--disable-log-stats"]),
        ({"offload_params": []}, []),
        ({"hf_token": True}, ["--hf-token"]),
        ({"gpu_memory_utilization": 0.5}, ["--gpu-memory-utilization", "0.5"]),
        ({"chat_template": "it's {{x}}"}, ["--chat-template", "it's {{x}}"]),
    ],
)
def test_each_kind_of_value_has_its_flag(kwargs: dict[str, Any], words: list[str]) -> None:
    assert shlex.split(as_flags(kwargs, NEWEST)) == words


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"hf_overrides": print}, "hf_overrides: .* has no JSON form"),
        ({"hf_overrides": {"x": float("nan")}}, "hf_overrides: .* has no JSON form"),
        ({"hf_token": False}, "hf_token: False cannot be given on the command line"),
        ({"served_model_name": []}, r"served_model_name: \[\] cannot be given"),
        ({"mm_processor_cache_type": None}, "mm_processor_cache_type: None cannot be given"),
        ({"mamba_config": {}}, "mamba_config: vLLM has no command-line flag for it"),
    ],
)
def test_what_a_command_line_cannot_say_is_refused(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(KwargsError, match=message):
        as_flags(kwargs, NEWEST)


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(KwargsError, match=r"hf_overrides: .* has no JSON form"):
        as_json({"hf_overrides": print})


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=8), max_size=3))
def test_whatever_is_in_a_mapping_survives_the_shell(overrides: dict[str, str]) -> None:
    flag, text = shlex.split(as_flags({"hf_overrides": overrides}, NEWEST))
    assert flag == "--hf-overrides"
    assert json.loads(text) == overrides


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("llm", "hf_overrides={'architectures': ['X']}"),
        ("vllm-serve", """--hf-overrides '{"architectures": ["X"]}'"""),
        ("vllm-serve-yaml", 'hf-overrides: {"architectures": ["X"]}'),
        ("trl-vllm-serve", """--hf-overrides '{"architectures": ["X"]}'"""),
        ("trl-colocate", "VLLM_PRESET=p VLLM_PRESET_CONSUMER=trl-colocate"),
        ("openrlhf", "VLLM_PRESET=p VLLM_PRESET_CONSUMER=openrlhf"),
        (
            "verl",
            "'+actor_rollout_ref.rollout.engine_kwargs.vllm.hf_overrides={architectures:[\"X\"]}'",
        ),
        ("nemo-rl", "'++policy.hf_config_overrides={architectures:[\"X\"]}'"),
        (
            "skyrl",
            f"""'{SKYRL}.hf_overrides={{"architectures": ["X"]}}'""",
        ),
        ("prime-rl", '[inference.vllm]\nhf_overrides = {architectures = ["X"]}'),
        ("ms-swift", """--vllm_engine_kwargs '{"hf_overrides": {"architectures": ["X"]}}'"""),
        ("llama-factory", 'vllm_config:\n  hf_overrides: {"architectures": ["X"]}'),
        ("ray-serve-llm", 'engine_kwargs:\n  hf_overrides: {"architectures": ["X"]}'),
        ("ray-data-llm", "engine_kwargs={'hf_overrides': {'architectures': ['X']}}"),
        ("lm-eval", """--model_args 'hf_overrides={"architectures": ["X"]}'"""),
        (
            "inspect-ai",
            "VLLM_DEFAULT_SERVER_ARGS=" + r"""'{"hf_overrides": "{\"architectures\": [\"X\"]}"}'""",
        ),
    ],
)
def test_the_consumer_decides_the_form(name: str, text: str) -> None:
    kwargs = {"hf_overrides": {"architectures": ["X"]}}
    assert render(kwargs, NEWEST, consumer(name), "p") == text


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("prime-rl", {"hf_overrides": {"a": None}}, "hf_overrides: .* has no TOML form"),
        ("verl", {"hf_overrides": {"it's": 1}}, "hf_overrides: .* has no Hydra form"),
        ("verl", {"hf_overrides": {"true": 1}}, "hf_overrides: .* has no Hydra form"),
        ("lm-eval", {"hf_overrides": print}, "hf_overrides: .* has no Python form"),
        ("llama-factory", {"hf_overrides": {"x": float("inf")}}, "has no YAML form"),
        ("inspect-ai", {"served_model_name": ["a", "b"]}, "served_model_name: .* one value"),
        ("ms-swift", {"hf_overrides": {"x": float("nan")}}, "hf_overrides: .* has no JSON form"),
    ],
)
def test_what_a_form_cannot_say_is_refused(name: str, kwargs: Any, message: str) -> None:
    with pytest.raises(KwargsError, match=message):
        render(kwargs, NEWEST, consumer(name))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=3))
def test_any_value_survives_json_yaml_and_a_literal(overrides: dict[str, Any]) -> None:
    kwargs = {"hf_overrides": overrides}
    text = shlex.split(render(kwargs, NEWEST, consumer("ms-swift")))[1]
    assert json.loads(text) == kwargs
    text = shlex.split(render(kwargs, NEWEST, consumer("lm-eval")))[1]
    assert ast.literal_eval(text.removeprefix("hf_overrides=")) == overrides
    assert (
        yaml.safe_load(render(kwargs, NEWEST, consumer("llama-factory")))["vllm_config"] == kwargs
    )


@given(st.dictionaries(st.text(max_size=4), VALUES.filter(lambda v: "None" not in repr(v))))
def test_any_value_but_none_survives_toml(overrides: dict[str, Any]) -> None:
    text = render({"hf_overrides": overrides}, NEWEST, consumer("prime-rl"))
    assert tomllib.loads(text)["inference"]["vllm"]["hf_overrides"] == overrides


def test_trl_gets_its_field_filled_the_day_it_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signature that TRL has, and the one that is proposed for it."""
    kwargs = {"hf_overrides": {"architectures": ["X"]}}
    config = tmp_path / "trl" / "trainer" / "grpo_config.py"
    config.parent.mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    for fields, text in (
        ("    vllm_mode: str = 'colocate'\n", "VLLM_PRESET=p VLLM_PRESET_CONSUMER=trl-colocate"),
        (
            "    vllm_llm_kwargs: dict | None = None\n",
            "vllm_llm_kwargs={'hf_overrides': {'architectures': ['X']}}",
        ),
    ):
        config.write_text(f"class GRPOConfig:\n{fields}")
        consumer.cache_clear()
        assert render(kwargs, NEWEST, consumer("trl-colocate"), "p") == text
    consumer.cache_clear()
