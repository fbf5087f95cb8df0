"""Which engine arguments a vLLM version has, as recorded from installed engines."""

import functools
from collections.abc import Iterable
from typing import NamedTuple

from packaging.version import Version

from presets.engines import Argument, engine, neighbours
from presets.errors import UnknownArgumentError
from presets.ranges import base_version
from presets.registry import DATA, engine_versions


class Rename(NamedTuple):
    """What became of a removed argument."""

    old: str
    new: list[str]
    removed: str
    hint: str
    source: str


@functools.cache
def recorded(version: str) -> dict[str, Argument]:
    """Every argument in a recorded version, of ``EngineArgs``, ``LLM`` and ``AsyncEngineArgs``."""
    found = engine(version)
    return {**found.async_only, **found.llm_only, **found.arguments}


@functools.cache
def renames() -> dict[str, Rename]:
    """Removed arguments by their old name."""
    import tomllib

    text = (DATA / "renames.toml").read_text(encoding="utf-8")
    entries = [Rename(**{"hint": "", **entry}) for entry in tomllib.loads(text)["renames"]]
    return {entry.old: entry for entry in entries}


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
    return all(name in engine(version).async_only for version in neighbours(vllm))


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
