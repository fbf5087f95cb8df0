"""Which engine arguments a vLLM version has, as recorded from installed engines.

The tables in ``data/engines`` are written by ``harness.record_engine`` and never by hand. For
a version between two recorded ones an argument counts as known when either of them has it;
above the newest, the newest decides, and below the oldest, the oldest.
"""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from packaging.version import Version

from presets.errors import UnknownArgumentError
from presets.ranges import base_version
from presets.registry import DATA, engine_versions


class Argument(msgspec.Struct, frozen=True):
    """One argument of the engine: its type as text, its default, and how it may be given."""

    type: str
    default: Any = None
    json: bool = False
    """Whether a value may be a JSON object: a mapping, or a config dataclass."""
    flags: list[str] | None = None
    """Its flags, such as ``--x`` and ``--no-x``; empty: it has none; None: not recorded."""

    @property
    def takes_text(self) -> bool:
        """Whether a plain string is a value, too."""
        return "str" in self.type.split(" | ")


class Rename(NamedTuple):
    """What became of a removed argument."""

    old: str
    new: list[str]
    removed: str
    hint: str
    source: str


class _Record(msgspec.Struct):
    arguments: dict[str, Argument]
    llm_only: dict[str, Argument]
    async_only: dict[str, Argument]


@functools.cache
def _record(version: str) -> _Record:
    return msgspec.json.decode((DATA / "engines" / f"{version}.json").read_bytes(), type=_Record)


@functools.cache
def recorded(version: str) -> dict[str, Argument]:
    """Every argument in a recorded version, of ``EngineArgs``, ``LLM`` and ``AsyncEngineArgs``."""
    record = _record(version)
    return {**record.async_only, **record.llm_only, **record.arguments}


@functools.cache
def renames() -> dict[str, Rename]:
    """Removed arguments by their old name."""
    import tomllib

    text = (DATA / "renames.toml").read_text(encoding="utf-8")
    entries = [Rename(**{"hint": "", **entry}) for entry in tomllib.loads(text)["renames"]]
    return {entry.old: entry for entry in entries}


def neighbours(vllm: str) -> list[str]:
    """The recorded versions that decide for a version: itself, or the one on either side."""
    version = base_version(vllm)
    versions = list(engine_versions())
    below = [v for v in versions if Version(v) <= version]
    if below and Version(below[-1]) == version:
        return below[-1:]
    return below[-1:] + versions[len(below) : len(below) + 1]


def argument(name: str, vllm: str) -> Argument | None:
    """What is recorded of an argument for a version, None if it is unknown there."""
    for version in reversed(neighbours(vllm)):
        if found := recorded(version).get(name):
            return found
    return None


def check_arguments(names: Iterable[str], vllm: str, *, server: bool = False) -> None:
    """UnknownArgumentError for all of ``names`` that a vLLM version does not have.

    ``server``: the arguments are for ``vllm serve``, which takes some that ``LLM`` does not.
    Each comes with its new name where there is one, else with the versions that have it, else
    with the nearest names.
    """
    problems = [
        f"{name}: only vllm serve takes it, LLM does not"
        if not server and _only_served(name, vllm)
        else f"{name}: {_unknown(name, vllm)}"
        for name in names
        if not _known(name, vllm) or (not server and _only_served(name, vllm))
    ]
    if problems:
        raise UnknownArgumentError(problems)


def _known(name: str, vllm: str) -> bool:
    if rename := renames().get(name):
        return base_version(vllm) < base_version(rename.removed)
    return argument(name, vllm) is not None


def _only_served(name: str, vllm: str) -> bool:
    return all(name in _record(version).async_only for version in neighbours(vllm))


def _unknown(name: str, vllm: str) -> str:
    if rename := renames().get(name):
        instead = f"use {' and '.join(rename.new)}" if rename.new else "drop it"
        hint = f" ({rename.hint})" if rename.hint else ""
        return f"removed in vLLM {rename.removed}; {instead}{hint}, see {rename.source}"
    having = [Version(v) for v in engine_versions() if name in recorded(v)]
    if having and min(having) > base_version(vllm):
        return (
            f"vLLM {vllm} does not have it yet; the first recorded version with it is {min(having)}"
        )
    if having:
        return f"vLLM {vllm} no longer has it; the last recorded version with it is {max(having)}"
    return f"vLLM {vllm} has no such argument{_nearest(name, vllm)}"


def _nearest(name: str, vllm: str) -> str:
    import difflib

    known = {known for version in neighbours(vllm) for known in recorded(version)}
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""
