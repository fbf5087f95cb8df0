"""A preset as a mapping: it unpacks, it cannot be changed, it knows its version."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import presets
from presets import Preset, UnsupportedVersionError

Make = Callable[..., Preset]


def test_it_unpacks_into_keywords(make_preset: Make) -> None:
    def engine(model: str, **kwargs: object) -> dict[str, object]:
        return kwargs

    preset = make_preset({"hf_overrides": {"architectures": ["X"]}, "enforce_eager": True})
    assert engine("m", **preset) == dict(preset) == preset
    assert list(preset) == ["hf_overrides", "enforce_eager"]
    assert len(preset) == 2


def test_what_it_hands_out_is_a_copy(make_preset: Make) -> None:
    preset = make_preset({"hf_overrides": {"architectures": ["X"]}})
    dict(preset)["hf_overrides"]["architectures"].append("Y")
    preset.kwargs_for("0.24.0")["hf_overrides"]["architectures"].append("Y")
    assert dict(preset) == preset.kwargs_for("0.24.0") == {"hf_overrides": {"architectures": ["X"]}}


def test_it_is_frozen(make_preset: Make) -> None:
    preset = make_preset({"enforce_eager": True})
    with pytest.raises(TypeError):
        preset["enforce_eager"] = False  # type: ignore[index]
    for field in ("vllm", "name", "essential", "anything"):
        with pytest.raises(AttributeError):
            setattr(preset, field, "x")


def test_equal_presets_hash_alike(make_preset: Make) -> None:
    old, new = (make_preset({"enforce_eager": True}, vllm=v) for v in ("0.24.0", "0.32.0"))
    assert old == new
    assert hash(old) == hash(new)


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_it_survives_copying_and_pickling(
    make_preset: Make, twin: Callable[[Preset], Preset]
) -> None:
    preset = make_preset({"hf_overrides": {"architectures": ["X"]}})
    other = twin(preset)
    assert (other, other.claims, other.vllm) == (preset, preset.claims, preset.vllm)


def test_the_digest_of_a_claim_is_of_what_its_run_depends_on(make_preset: Make) -> None:
    def digest(engine: dict[str, Any], changes: dict[str, Any] | None = None, **fields: Any) -> str:
        preset = make_preset(engine, **fields)
        return preset.digest(msgspec.structs.replace(preset.claims[0], **(changes or {})))

    eager = {"enforce_eager": True}
    one = digest(eager)
    assert one == digest(eager, vllm="0.24.0", caveat="careful")
    assert one == digest(eager, {"why": "so", "vllm": ">=0.1", "sources": ["https://x.example"]})
    assert one != digest({"enforce_eager": False})
    assert one != digest(eager, {"defects": ["drop-towers"]})
    assert one != digest(eager, {"control": "wrong"})
    assert one != digest(eager, {"engine": {"seed": 1}})


def test_it_binds_to_another_version(make_preset: Make) -> None:
    preset = make_preset({"enforce_eager": True})
    assert preset.for_version("0.24.0").vllm == "0.24.0"
    assert preset.for_version("0.32.0") is preset


@pytest.mark.parametrize("version", ["0.12.0", "0.13.0rc1.dev1", "latest"])
def test_a_version_outside_the_window_is_refused(make_preset: Make, version: str) -> None:
    preset = make_preset({"enforce_eager": True})
    if version.startswith("0.13"):
        assert preset.kwargs_for(version) == {"enforce_eager": True}
        return
    with pytest.raises(UnsupportedVersionError):
        preset.kwargs_for(version)


def test_every_shipped_preset_says_what_it_is_for_and_why() -> None:
    for name in presets.names():
        preset = presets.find(alias=name, trust_remote_code=True, faults=True)[0]
        assert preset.summary
        assert preset.sources
        assert all(claim.sources for claim in preset.claims)
        assert all(condition.why for condition in preset.when)
