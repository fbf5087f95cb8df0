"""Which architectures and model types a vLLM version has, as recorded from installed engines."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import Version

from presets.engines import engine, neighbours
from presets.errors import UnknownArgumentError
from presets.ranges import base_version
from presets.registry import engine_versions
from presets.tree import MISSING, lookup

KEYS = ("hf_overrides.architectures", "hf_overrides.text_config.architectures")
"""Where engine kwargs name an architecture."""


def named(kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each (dotted key, value) of engine kwargs that names architectures."""
    for key in KEYS:
        value = lookup(kwargs, key)
        if value not in (MISSING, None):
            yield key, value


def check_architectures(kwargs: Mapping[str, Any], vllm: str) -> None:
    """UnknownArgumentError for every architecture that another recorded version has, and this one
    has not. One that no version has may come from a plugin, and passes.
    """
    problems = [
        f"{key}: {name}: {gone}"
        for key, value in named(kwargs)
        for name in (value if isinstance(value, list | tuple) else [value])
        if isinstance(name, str) and (gone := absent(name, vllm))
    ]
    if problems:
        raise UnknownArgumentError(problems)


def absent(name: str, vllm: str) -> str:
    """Why a vLLM version lacks an architecture that other versions have; empty if it has it, or
    if no recorded version has.
    """
    near = [engine(version) for version in neighbours(vllm)]
    if all(e.has(name) for e in near):
        return ""
    last = next((e.previously_supported[name] for e in near if name in e.previously_supported), "")
    if last and Version(last) < base_version(vllm):
        return f"vLLM {vllm} no longer has it; the last version with it is {last}"
    if any(e.has(name) for e in near):
        return ""
    having = [Version(v) for v in engine_versions() if engine(v).has(name)]
    if not having:
        return ""
    if min(having) > base_version(vllm):
        first = min(having)
        return f"vLLM {vllm} does not have it yet; the first recorded version with it is {first}"
    return f"vLLM {vllm} no longer has it; the last recorded version with it is {max(having)}"


def unknown_model_type(name: str, vllm: str) -> str:
    """Why a vLLM version cannot read a config of this model type without code of the checkpoint's
    own: the transformers beside which it was recorded lacks it. Empty if it can, or if ``name`` is.
    """
    near = [engine(version) for version in neighbours(vllm)]
    if not name or any(name in e.model_types for e in near):
        return ""
    having = [version for version in engine_versions() if name in engine(version).model_types]
    beside = " and ".join(f"{e.transformers} (vLLM {e.vllm})" for e in near)
    if not having:
        return f"transformers {beside} does not know it, and none of another recorded vLLM does"
    known = engine(having[0] if Version(having[0]) > base_version(vllm) else having[-1])
    return (
        f"transformers {beside} does not know it; {known.transformers} does, the one of the "
        f"recorded vLLM {known.vllm}"
    )


def unheard_of(name: str) -> str:
    """Why an architecture is taken for a mistake: no recorded version has it; empty if one has."""
    records = [engine(version) for version in engine_versions()]
    if any(e.has(name) or name in e.previously_supported for e in records):
        return ""
    known = {known for version in engine_versions() for known in engine(version).architectures}
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.7)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"no recorded vLLM version has this architecture{hint}"
