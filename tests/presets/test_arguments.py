"""Which arguments a vLLM version has, and what an unknown one is told."""

import json

import pytest

from presets import UnknownArgumentError
from presets.arguments import argument, check_arguments, recorded, renames
from presets.engines import neighbours
from presets.ranges import base_version
from presets.registry import DATA, engine_versions


def refused(*names: str, vllm: str) -> list[str]:
    with pytest.raises(UnknownArgumentError) as caught:
        check_arguments(names, vllm)
    return caught.value.problems


@pytest.mark.parametrize("version", engine_versions())
def test_a_record_is_complete_and_of_nothing_but_the_engine(version: str) -> None:
    text = (DATA / "engines" / f"{version}.json").read_text(encoding="utf-8")
    record = json.loads(text)
    assert record["vllm"] == version
    assert {"python", "torch", "transformers"} < record.keys()
    assert {"model", "hf_overrides", "dtype", "trust_remote_code"} < record["arguments"].keys()
    assert not [word for word in ("/root", "/home", "/tmp", "0x", "site-packages") if word in text]


@pytest.mark.parametrize("version", engine_versions())
def test_what_takes_an_object_is_told_from_what_does_not(version: str) -> None:
    known = recorded(version)
    objects = {name for name, entry in known.items() if entry.json}
    assert {"hf_overrides", "limit_mm_per_prompt", "compilation_config"} < objects
    assert not objects & {"model", "dtype", "max_model_len", "enforce_eager", "served_model_name"}
    assert not known["hf_overrides"].takes_text
    assert known["tokenizer"].takes_text


def test_neighbours() -> None:
    assert neighbours("0.24.0") == ["0.24.0"]
    assert neighbours("0.24.0rc1") == ["0.24.0"]
    assert neighbours("0.20.0") == ["0.19.1", "0.24.0"]
    assert neighbours("0.1.0") == [engine_versions()[0]]
    assert neighbours("99.0.0") == [engine_versions()[-1]]


def test_known_arguments_pass() -> None:
    for version in [*engine_versions(), "0.20.0", "99.0.0"]:
        check_arguments(["hf_overrides", "dtype", "tensor_parallel_size"], version)
    check_arguments(["chat_template"], "0.32.0")
    check_arguments(["enable_log_requests"], "0.32.0", server=True)
    with pytest.raises(UnknownArgumentError, match="only vllm serve takes it"):
        check_arguments(["enable_log_requests"], "0.32.0")
    check_arguments([], "0.32.0")


def test_between_two_recorded_versions_either_one_will_do() -> None:
    # 0.17.1 has no quantization_config, 0.24.0 has it: in 0.20.0 it may be there.
    assert "quantization_config" not in recorded("0.19.1")
    check_arguments(["quantization_config"], "0.20.0")
    # 0.24.0 has calculate_kv_scales, 0.28.0 has not: in 0.26.0 it may still be there.
    assert "calculate_kv_scales" not in recorded("0.28.0")
    check_arguments(["calculate_kv_scales"], "0.26.0")
    assert refused("model_class_overrides", vllm="0.20.0")


def test_a_newer_argument_is_told_since_when() -> None:
    (problem,) = refused("language_model_only", vllm="0.13.0")
    assert problem == (
        "language_model_only: vLLM 0.13.0 does not have it yet; "
        "the first recorded version with it is 0.17.1"
    )


def test_a_removed_argument_is_told_until_when() -> None:
    (problem,) = refused("calculate_kv_scales", vllm="0.32.0")
    assert "no longer has it; the last recorded version with it is 0.24.0" in problem


def test_a_misspelt_argument_is_told_the_nearest_name() -> None:
    (problem,) = refused("hf_override", vllm="0.32.0")
    assert "did you mean hf_overrides" in problem


def test_a_name_like_no_other_is_told_no_name() -> None:
    assert refused("zzzzqqqq", vllm="0.32.0") == ["zzzzqqqq: vLLM 0.32.0 has no such argument"]


def test_all_unknown_arguments_are_reported_at_once() -> None:
    found = refused("task", "dtype", "hf_override", "language_model_only", vllm="0.13.0")
    assert [p.partition(":")[0] for p in found] == ["task", "hf_override", "language_model_only"]


@pytest.mark.parametrize("rename", renames().values(), ids=lambda r: r.old)
def test_a_renamed_argument_agrees_with_the_records(rename: object) -> None:
    old, new, removed, _, source = rename  # type: ignore[misc]
    for version in engine_versions():
        gone = base_version(version) >= base_version(removed)
        assert (old not in recorded(version)) or not gone
        assert (old in recorded(version)) or gone
    assert all(argument(name, "0.32.0") for name in new)
    assert source.startswith("https://")
    (problem,) = refused(old, vllm="0.32.0")
    assert problem.startswith(f"{old}: removed in vLLM {removed}; ")
    assert all(name in problem for name in new)


def test_a_renamed_argument_is_known_before_its_removal() -> None:
    check_arguments(["task"], "0.12.0")
    check_arguments(["swap_space"], "0.17.1")
    assert refused("swap_space", vllm="0.18.0")
