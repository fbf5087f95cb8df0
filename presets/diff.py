"""What changed between two recorded vLLM versions."""

from typing import Any

import msgspec

from presets.arguments import recorded, renames
from presets.engines import Engine, engine
from presets.errors import UnknownNameError
from presets.ranges import base_version
from presets.registry import engine_versions


class Changes(msgspec.Struct, frozen=True):
    """Names that one version has and the other has not; each list and table is sorted."""

    gained: list[str]
    lost: list[str]
    renamed: dict[str, list[str]]
    """Old name -> new names; neither is among the lost and the gained."""


class EngineDiff(msgspec.Struct, frozen=True):
    """From one recorded version to another."""

    old: str
    new: str
    arguments: Changes
    defaults: dict[str, tuple[Any, Any]]
    """Argument -> its default before and after, where it differs."""
    architectures: Changes


def diff_engines(old: str, new: str) -> EngineDiff:
    """What the engine arguments and architectures of ``new`` are, against those of ``old``.

    UnknownNameError for a version that was not recorded.
    """
    for version in (old, new):
        if version not in engine_versions():
            known = ", ".join(engine_versions())
            raise UnknownNameError(f"vLLM {version} was not recorded; recorded are {known}")
    before, after = recorded(old), recorded(new)
    return EngineDiff(
        old,
        new,
        _changes(before.keys(), after.keys(), _renamed_arguments(old, new)),
        {
            name: (before[name].default, after[name].default)
            for name in sorted(before.keys() & after.keys())
            if before[name].default != after[name].default
        },
        _changes(
            engine(old).architectures.keys(),
            engine(new).architectures.keys(),
            _renamed_architectures(engine(old), engine(new)),
        ),
    )


def _changes(old: Any, new: Any, renamed: dict[str, list[str]]) -> Changes:
    came_from = {name for names in renamed.values() for name in names}
    return Changes(
        sorted(new - old - came_from),
        sorted(old - new - renamed.keys()),
        {name: renamed[name] for name in sorted(renamed)},
    )


def _renamed_arguments(old: str, new: str) -> dict[str, list[str]]:
    return {
        entry.old: entry.new
        for entry in renames().values()
        if base_version(old) < base_version(entry.removed) <= base_version(new) and entry.new
    }


def _renamed_architectures(old: Engine, new: Engine) -> dict[str, list[str]]:
    """A name that went while one that came stands for the same class."""
    came = new.architectures.keys() - old.architectures.keys()
    found = {
        name: sorted(n for n in came if new.architectures[n].model == entry.model)
        for name, entry in old.architectures.items()
        if name not in new.architectures
    }
    return {name: names for name, names in found.items() if names}
