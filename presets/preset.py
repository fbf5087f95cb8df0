"""A preset bound to one vLLM version: a frozen mapping over its engine kwargs."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from presets.errors import UnsupportedVersionError
from presets.ranges import base_version, parse_range
from presets.schema import Claim, Condition, Conflict, PresetFile, Steps
from presets.tree import leaves


class Preset(Mapping[str, Any]):
    """Engine kwargs of one preset for one vLLM version; ``LLM(model, **preset)``.

    Values are handed out as deep copies, so nothing a caller does to them changes the registry.
    """

    __slots__ = ("_engine", "_file", "_vllm")

    def __init__(self, file: PresetFile, vllm: str) -> None:
        self._file = file
        self._vllm = vllm
        self._engine = _engine_kwargs(file, vllm)

    def __getitem__(self, key: str) -> Any:
        return copy.deepcopy(self._engine[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._engine)

    def __len__(self) -> int:
        return len(self._engine)

    def __hash__(self) -> int:
        return hash(frozenset(self._engine))  # equal presets are equal mappings

    def __repr__(self) -> str:
        return f"<Preset {self.name!r} for vLLM {self.vllm}: {self._engine!r}>"

    @property
    def vllm(self) -> str:
        """The vLLM version the kwargs are for."""
        return self._vllm

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def family(self) -> str:
        return self._file.family

    @property
    def summary(self) -> str:
        return self._file.summary

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(self._file.aliases)

    @property
    def essential(self) -> tuple[str, ...]:
        """Dotted keys that the preset exists for."""
        return tuple(self._file.essential)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        return tuple(copy.deepcopy(self._file.conflicts))

    @property
    def caveat(self) -> str:
        return self._file.caveat

    @property
    def window(self) -> str:
        """The vLLM versions the preset is offered for, e.g. ``">=0.19.0"``."""
        return self._file.vllm

    @property
    def when(self) -> tuple[Condition, ...]:
        """The conditions, any of which a checkpoint must meet."""
        return tuple(copy.deepcopy(self._file.when))

    @property
    def intent(self) -> str:
        """What the user must want, where no condition on the files can tell."""
        return self._file.intent

    @property
    def repair(self) -> str:
        """Of a fault: what to do to the checkpoint. A fault has no kwargs; ``get`` refuses it."""
        return self._file.repair

    @property
    def steps(self) -> Steps | None:
        """What ``presets repair`` does: a fault's own steps; of a preset that sets nothing but
        ``hf_overrides``, those in config.json. None where it can do nothing.
        """
        if self._file.steps:
            return copy.deepcopy(self._file.steps)
        if set(self._engine) != {"hf_overrides"}:
            return None
        keys = {".".join(path): value for path, value in leaves(self._engine["hf_overrides"])}
        return Steps(set={"config.json": copy.deepcopy(keys)})

    @property
    def unproven(self) -> str:
        """Why the harness cannot prove it on a tiny checkpoint."""
        return self._file.unproven

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the harness proves, for every vLLM version."""
        return tuple(copy.deepcopy(self._file.claims))

    @property
    def sources(self) -> tuple[str, ...]:
        """Every link the preset and its claims rest on, in order of appearance."""
        links = [*self._file.sources, *(s for c in self._file.claims for s in c.sources)]
        return tuple(dict.fromkeys(links))

    def digest(self, claim: Claim) -> str:
        """16 hex digits over what a run of one of its claims depends on: kwargs, conditions, steps
        and the claim itself. A record carries it. Words, links and the claim's versions do not
        count.
        """
        import hashlib

        parts = [self._engine, _run(self._file.when), _run(claim)]
        if self._file.steps:
            parts.append(_run(self._file.steps))
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]

    def kwargs_for(self, version: str) -> dict[str, Any]:
        """The engine kwargs for a vLLM version such as ``"0.24.0"``.

        UnsupportedVersionError if the preset is not offered for it.
        """
        return copy.deepcopy(_engine_kwargs(self._file, version))

    def for_version(self, version: str) -> "Preset":
        """The same preset for another vLLM version."""
        return self if version == self._vllm else Preset(self._file, version)


_WORDS = {
    Condition: ("why", "code"),
    Claim: ("why", "sources", "vllm", "device", "memory_gib", "gpus", "gated"),
}
"""Fields that change no run."""


def _run(value: Any) -> Any:
    """As plain data, without words and without fields that have their default value: a field that
    is added to the schema later changes no digest. (msgspec's ``omit_defaults`` compares by
    identity.)
    """
    if isinstance(value, list):
        return [_run(item) for item in value]
    if not isinstance(value, msgspec.Struct):
        return value
    plain = {}
    for info in msgspec.structs.fields(value):
        found = getattr(value, info.name)
        factory = info.default_factory
        default = factory() if callable(factory) else info.default
        if info.name not in _WORDS.get(type(value), ()) and found != default:
            plain[info.name] = _run(found)
    return plain


def _engine_kwargs(file: PresetFile, vllm: str) -> dict[str, Any]:
    version = base_version(vllm)
    for block in file.kwargs:
        if version in parse_range(block.vllm):
            return block.engine
    if file.repair and version in parse_range(file.vllm):
        return {}
    raise UnsupportedVersionError(
        f"preset {file.name!r} is known for vLLM {file.vllm}, not for {vllm}"
    )
