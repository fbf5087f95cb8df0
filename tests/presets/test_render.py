"""Kwargs in the form a consumer takes; ``tests/engine`` has vLLM's own parser read the flags."""

import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presets import KwargsError
from presets.render import as_flags, as_json, as_keywords, render

NEWEST = "0.32.0"
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


def test_the_consumer_decides_the_form() -> None:
    kwargs = {"enforce_eager": True}
    assert render(kwargs, "python", NEWEST) == "enforce_eager=True"
    assert render(kwargs, "cli", NEWEST) == "--enforce-eager"
