"""vLLM's own parser reads the rendered flags back as the same kwargs."""

import dataclasses
import shlex
from typing import Any

import pytest

from presets import find, merge
from presets.arguments import recorded
from presets.registry import default_vllm, engine_versions, get
from presets.render import as_flags

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def parser() -> Any:
    from vllm.engine.arg_utils import EngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    return EngineArgs.add_cli_args(FlexibleArgumentParser())


@pytest.fixture(scope="module")
def vllm_version() -> str:
    import vllm

    return str(vllm.__version__).partition("+")[0]


def read(parser: Any, kwargs: dict[str, Any], version: str) -> dict[str, Any]:
    """The arguments as parsed, where they differ from what no flag at all gives."""
    bare = vars(parser.parse_args([]))
    parsed = vars(parser.parse_args(shlex.split(as_flags(kwargs, version))))
    return {
        key: _stated(value, kwargs.get(key)) for key, value in parsed.items() if value != bare[key]
    }


def _stated(value: Any, asked: Any) -> Any:
    """Of a config object, which fills in more than it is given, what was asked for."""
    if dataclasses.is_dataclass(value) and isinstance(asked, dict):
        return {key: getattr(value, key) for key in asked}
    return value


@pytest.mark.parametrize(
    "kwargs",
    [
        {"hf_overrides": {"architectures": ["Gemma4ForCausalLM"]}, "language_model_only": True},
        {"hf_overrides": {"text_config": {"x": [1, 2.5, None, True], "it's": 'a "b" $c'}}},
        {"hf_overrides": {"unicode": "größe", "number_like": "80m", "nested": {"k": "1K"}}},
        {"limit_mm_per_prompt": {"image": 0, "video": 0, "audio": 0}},
        {"enable_prefix_caching": False, "enforce_eager": True, "trust_remote_code": True},
        {"use_tqdm_on_load": False, "swa_bounded_replay": False},
        {"max_logprobs": -1, "seed": 3, "gpu_memory_utilization": 0.25, "max_model_len": 64},
        {"served_model_name": ["a", "b c"], "dtype": "float32", "tokenizer": "-odd"},
        {"disable_log_stats": True, "mm_processor_cache_gb": 0},
        {"offload_params": {"b", "a"}, "cudagraph_capture_sizes": [1, 2]},
        {"speculative_config": {"method": "ngram", "num_speculative_tokens": 2}},
        {"override_generation_config": {"temperature": 0.5}, "hf_token": True},
    ],
)
def test_flags_read_back_as_the_kwargs(
    parser: Any, vllm_version: str, kwargs: dict[str, Any]
) -> None:
    assert _plain(read(parser, kwargs, vllm_version)) == _plain(kwargs)


OFFERED = [
    preset.name
    for preset in find(vllm=default_vllm(), trust_remote_code=True)
    if preset.vllm == default_vllm()
]


@pytest.mark.parametrize("name", OFFERED)
@pytest.mark.parametrize("consumer", ["vllm-serve", "trl-vllm-serve"])
def test_every_preset_reads_back(parser: Any, vllm_version: str, name: str, consumer: str) -> None:
    preset = get(name, vllm_version, untested=True, trust_remote_code=True)
    user = {"trust_remote_code": True} if "trust_remote_code" in preset else {}
    kwargs = merge(preset, user, consumer=consumer).handover()
    assert _plain(read(parser, kwargs, vllm_version)) == _plain(kwargs)


def test_the_recorded_flags_are_the_parsers(parser: Any, vllm_version: str) -> None:
    if vllm_version not in engine_versions():
        pytest.skip(f"vLLM {vllm_version} was not recorded")
    known = {option for action in parser._actions for option in action.option_strings}
    fields = vars(parser.parse_args([]))
    for name, argument in recorded(vllm_version).items():
        if name in fields:
            assert set(argument.flags or []) <= known
            assert ("--" + name.replace("_", "-") in known) == bool(argument.flags)


def _plain(kwargs: dict[str, Any]) -> dict[str, Any]:
    """A tuple or a set as a list, for what an argument of several values parses to."""
    return {
        key: sorted(value) if isinstance(value, set | tuple) else value
        for key, value in kwargs.items()
    }
