"""Overrides that look like a repair and are none, in the real engine; no preset hands them out."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import presets
from harness import engine, tiny
from harness.isolation import Isolation
from harness.outcome import Outcome, Reference, Request
from harness.reference import Parity, Wanted, compare, reference
from harness.tiny.families import FAMILIES
from presets.facts import read_facts
from presets.registry import engine_versions

pytestmark = pytest.mark.engine

Try = Callable[..., tuple[Outcome, Parity | None]]

GEMMA4_TEXT_ONLY = ("gemma4", ["drop-towers"])
NATIVE = {
    "rope_type": "default",
    "rope_theta": 10000000,
    "partial_rotary_factor": 0.25,
    "mrope_section": [11, 11, 10],
    "mrope_interleaved": True,
}
NO_NESTED_YARN = ("qwen3.5-yarn", [f"set-key=text_config.rope_parameters={json.dumps(NATIVE)}"])
NO_FLAT_YARN = (
    "qwen3-yarn",
    ['set-key=rope_parameters={"rope_type": "default", "rope_theta": 1000000}'],
)
YARN = {"rope_type": "yarn", "factor": 4.0}
NO_PREFIX_CACHE = {"enable_prefix_caching": False}  # see harness/tiny/qwen_vl.py


@pytest.fixture
def attempt(isolation: Isolation) -> Try:
    """Run a checkpoint with some engine kwargs: what happened, and the parity if it answered."""

    def run(checkpoint: tuple[str, list[str]], **kwargs: Any) -> tuple[Outcome, Parity | None]:
        healthy = isolation.call(tiny.build, checkpoint[0], [], answer=Path)
        (architecture, *_) = read_facts(healthy).architectures
        wanted = isolation.call(
            reference, str(healthy), architecture, Wanted(), "float32", "cpu", answer=Reference
        )
        broken = build(isolation, checkpoint)
        outcome = engine.run(isolation, Request(str(broken), wanted.prompt, kwargs), 300)
        return outcome, compare(outcome, wanted, "float32") if outcome.ok else None

    return run


def build(isolation: Isolation, checkpoint: tuple[str, list[str]]) -> Path:
    return isolation.call(tiny.build, *checkpoint, answer=Path)


def handed_out() -> Iterator[tuple[presets.Preset, str, dict[str, Any]]]:
    """The engine kwargs of every preset for every recorded vLLM version that it is offered for."""
    for name in presets.names():
        for version in engine_versions():
            with suppress(presets.UnsupportedVersionError, presets.FaultError):
                preset = presets.get(name, version, untested=True, trust_remote_code=True)
                yield preset, version, dict(preset)


def keys(table: Any) -> Iterator[str]:
    """Every key at every depth."""
    if isinstance(table, dict):
        for key, value in table.items():
            yield key
            yield from keys(value)


def test_a_class_with_the_same_tensor_names_starts_and_yields_soup(
    attempt: Try, isolation: Isolation
) -> None:
    """Llama knows every tensor of Granite and none of its four multipliers."""
    granite: tuple[str, list[str]] = ("granite", [])
    assert_right(attempt(granite))
    trap = attempt(granite, hf_overrides={"architectures": ["LlamaForCausalLM"]})
    assert trap[0].architecture == "LlamaForCausalLM"
    assert_silently_wrong(trap)
    assert presets.check(build(isolation, granite)).verdict == "loads"


def test_every_class_that_is_handed_out_is_proven_by_parity() -> None:
    for preset, _, kwargs in handed_out():
        if "architectures" in kwargs.get("hf_overrides", {}):
            assert preset.unproven or proven(preset), preset.name


def test_a_text_class_that_reads_the_outer_config_fails(attempt: Try, isolation: Isolation) -> None:
    nested = ("qwen3-vl", ["drop-towers"])
    outcome, _ = attempt(nested, hf_overrides={"architectures": ["Qwen3ForCausalLM"]})
    assert outcome.stage == "construct"
    assert "'Qwen3VLConfig' object has no attribute 'vocab_size'" in str(outcome.error)
    found = presets.check(build(isolation, nested))
    assert found.verdict == "preset"
    assert all("hf_overrides" not in one.engine_kwargs for one in (found, *found.also))


def test_rope_parameters_on_top_of_a_nested_config_do_nothing(attempt: Try) -> None:
    rope = {**YARN, "original_max_position_embeddings": 262144}
    plain = attempt(NO_NESTED_YARN, **NO_PREFIX_CACHE)
    trap = attempt(NO_NESTED_YARN, hf_overrides={"rope_parameters": rope}, **NO_PREFIX_CACHE)
    nested = {"text_config": {"rope_parameters": rope}}
    assert_silently_wrong(trap)
    assert trap[0].steps == plain[0].steps
    assert_right(attempt(NO_NESTED_YARN, hf_overrides=nested, **NO_PREFIX_CACHE))
    for preset, _, kwargs in handed_out():
        if "rope_parameters" in kwargs.get("hf_overrides", {}):
            tried = [FAMILIES[c.checkpoint].config for c in preset.claims if not c.on_hub]
            assert all("text_config" not in config for config in tried), preset.name


def test_rope_theta_alone_does_nothing(attempt: Try) -> None:
    """The config of transformers 5 keeps it in rope_parameters, and there it is found first."""
    wrong_theta = (
        "qwen3",
        ['set-key=rope_parameters={"rope_type": "default", "rope_theta": 5000}'],
    )
    plain = attempt(wrong_theta)
    trap = attempt(wrong_theta, hf_overrides={"rope_theta": 10000})
    whole = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000}}
    assert_silently_wrong(trap)
    assert trap[0].steps == plain[0].steps
    assert_right(attempt(wrong_theta, hf_overrides=whole))
    for preset, _, kwargs in handed_out():
        overrides = kwargs.get("hf_overrides", {})
        for table in (overrides, overrides.get("text_config", {})):
            assert not {"rope_theta", "rope_scaling"} & table.keys(), preset.name


def test_yarn_alone_does_not_make_room_for_longer_prompts(attempt: Try) -> None:
    """The documented form: since 0.30 the engine does not multiply the length by the factor."""
    rope = {**YARN, "rope_theta": 1000000, "original_max_position_embeddings": 32768}
    room = {"max_model_len": 131072, "num_gpu_blocks_override": 1100}
    outcome, _ = attempt(NO_FLAT_YARN, hf_overrides={"rope_parameters": rope}, **room)
    assert outcome.stage == "config"
    assert "greater than the derived max_model_len" in str(outcome.error)
    whole = {"rope_parameters": rope, "max_position_embeddings": 131072}
    assert_right(attempt(NO_FLAT_YARN, hf_overrides=whole, **room))
    for preset, _, kwargs in handed_out():
        overrides = kwargs.get("hf_overrides", {})
        for table in (overrides, overrides.get("text_config", {})):
            if table.get("rope_parameters", {}).get("rope_type") == "yarn":
                assert "max_position_embeddings" in table, preset.name


def test_a_modality_that_is_not_named_keeps_its_limit(attempt: Try) -> None:
    forgotten = {"image": 0, "video": 0}
    outcome, _ = attempt(GEMMA4_TEXT_ONLY, limit_mm_per_prompt=forgotten)
    assert outcome.stage == "load"
    assert "not initialized from checkpoint" in str(outcome.error)
    assert "audio_tower" in str(outcome.error)
    assert_right(attempt(GEMMA4_TEXT_ONLY, limit_mm_per_prompt={**forgotten, "audio": 0}))
    for preset, version, kwargs in handed_out():
        if limits := kwargs.get("limit_mm_per_prompt"):
            assert {"image", "video", "audio"} <= limits.keys(), (preset.name, version)


def test_another_model_type_changes_no_class(attempt: Try) -> None:
    plain, _ = attempt(GEMMA4_TEXT_ONLY)
    trap, _ = attempt(GEMMA4_TEXT_ONLY, hf_overrides={"model_type": "gemma4_text"})
    assert plain.stage == trap.stage == "load"
    for outcome in (plain, trap):
        assert "not initialized from checkpoint" in str(outcome.error)
        assert "vision_tower" in str(outcome.error)
    for preset, _, kwargs in handed_out():
        if "model_type" in set(keys(kwargs.get("hf_overrides", {}))):
            assert preset.unproven or proven(preset), preset.name


def test_a_nested_table_is_handed_out_only_where_the_engine_merges_it() -> None:
    """Before 0.11.1 it replaced the whole sub-config (vLLM pull request 25727)."""
    for preset, _, kwargs in handed_out():
        if any(isinstance(v, dict) for v in kwargs.get("hf_overrides", {}).values()):
            with pytest.raises(presets.UnsupportedVersionError):
                preset.kwargs_for("0.11.0")


def test_newer_names_of_the_tower_need_renaming_not_another_class(
    attempt: Try, isolation: Isolation
) -> None:
    """A Gemma 3 that transformers 5.19 built and saved: no vision_model. in the tower's names."""
    resaved: tuple[str, list[str]] = ("gemma3", [])
    plain, _ = attempt(resaved)
    assert plain.stage == "load"
    assert "no module or parameter named 'vision_tower.embeddings'" in str(plain.error)
    text_class, parity = attempt(resaved, hf_overrides={"architectures": ["Gemma3ForCausalLM"]})
    assert not text_class.ok or (parity is not None and not parity.ok)
    assert_right(attempt(resaved, language_model_only=True))
    found = presets.check(build(isolation, resaved))
    assert found.preset == "gemma3-text-only"
    assert "vision-tower-prefix" in {one.preset for one in found.also}
    assert all("hf_overrides" not in one.engine_kwargs for one in (found, *found.also))


def proven(preset: presets.Preset) -> bool:
    return any(c.expected == "needed" and not c.on_hub for c in preset.claims)


def assert_right(tried: tuple[Outcome, Parity | None]) -> None:
    outcome, parity = tried
    assert outcome.ok, outcome.error
    assert parity is not None
    assert parity.ok


def assert_silently_wrong(tried: tuple[Outcome, Parity | None]) -> None:
    outcome, parity = tried
    assert outcome.ok, outcome.error
    assert parity is not None
    assert not parity.ok
