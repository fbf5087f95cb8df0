"""Merge what the consumer, the preset and the user ask for into one set of engine kwargs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from presets.architectures import check_architectures
from presets.arguments import check_arguments
from presets.errors import ContradictionError, RemoteCodeError
from presets.guards import check_guards
from presets.kwargs import parse_kwargs
from presets.overrides import ComposedOverrides
from presets.preset import Preset
from presets.registry import bind, default_vllm, with_kwargs
from presets.registry import consumer as read_consumer
from presets.tree import MISSING, copied, deep_merge, dig, holds, is_zero, leaves, lookup

LAYERS = ("consumer", "preset", "user")


class Merged(Mapping[str, Any]):
    """Effective engine kwargs; frozen, and every value handed out is a copy."""

    __slots__ = ("_consumer", "_kwargs", "_layers", "_vllm")

    def __init__(
        self,
        kwargs: Mapping[str, Any],
        layers: Mapping[str, Mapping[str, Any]],
        vllm: str,
        consumer: str | None,
    ) -> None:
        self._kwargs = kwargs
        self._layers = layers
        self._vllm = vllm
        self._consumer = consumer

    def __getitem__(self, key: str) -> Any:
        return copied(self._kwargs[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._kwargs)

    def __len__(self) -> int:
        return len(self._kwargs)

    def __repr__(self) -> str:
        return f"<Merged for vLLM {self._vllm}: {self._kwargs!r}>"

    @property
    def vllm(self) -> str:
        """The vLLM version the kwargs are for."""
        return self._vllm

    @property
    def consumer(self) -> str | None:
        """The consumer whose defaults and guards were applied."""
        return self._consumer

    def handover(self) -> dict[str, Any]:
        """What to pass to the consumer's knob: the arguments that the preset or the user set,
        each with its whole value. What the consumer sets anyway is left out.
        """
        given = self._layers["preset"].keys() | self._layers["user"].keys()
        return {key: self[key] for key in self if key in given}

    def explain(self) -> dict[str, str]:
        """Who set each value: dotted key to "consumer", "preset", "user", or "preset and user"
        where both ask for the same value. A callable of the user's comes after the preset's.
        """
        found: dict[str, str] = {}
        for key, value in self._kwargs.items():
            if isinstance(value, ComposedOverrides):
                found |= self._owners({key: value.overrides})
                found[key] = "user (a callable, applied last)"
            else:
                found |= self._owners({key: value})
        return found

    def _owners(self, tree: Mapping[str, Any]) -> dict[str, str]:
        owners: dict[str, str] = {}
        for path, value in leaves(tree):
            having = [layer for layer in LAYERS if dig(self._layers[layer], path) is not MISSING]
            both = having[-2:] == ["preset", "user"] and holds(
                dig(self._layers["preset"], path), value
            )
            owners[".".join(map(str, path))] = "preset and user" if both else having[-1]
        return owners


def merge(
    preset: str | Preset | None,
    user_kwargs: Mapping[str, Any] | str | None = None,
    consumer: str | None = None,
    vllm: str | None = None,
    *,
    untested: bool = False,
) -> Merged:
    """Merge engine kwargs: the consumer's defaults, below the preset's, below the user's.

    Mappings merge at every depth, everything else replaces. A callable ``hf_overrides`` of the
    user's is applied after the preset's. None for an argument that takes a mapping stands for
    "nothing to add", as it does for ``LLM``.

    Parameters
    ----------
    preset:
        A preset, its name, or None to check the user's kwargs alone.
    user_kwargs:
        A mapping, or the JSON text of one. Not changed.
    consumer:
        The program that takes the kwargs, e.g. ``"trl-colocate"``. None: no guards, no defaults.
    vllm:
        A vLLM version. Default: the preset's own, or as for ``get``.
    untested:
        Accept a version newer than the newest one whose facts were recorded.

    Raises
    ------
    UnknownNameError, UnsupportedVersionError, KwargsError, UnknownArgumentError,
    FaultError, RemoteCodeError, ContradictionError, GuardError
    """
    bound = None if preset is None else with_kwargs(bind(preset, vllm, untested=untested))
    version = bound.vllm if bound else vllm or default_vllm()
    profile = None if consumer is None else read_consumer(consumer)
    wanted: dict[str, Any] = dict(bound or {})
    user = parse_kwargs(user_kwargs, version)
    lower = deep_merge(profile.defaults if profile else {}, wanted)
    user = {k: v for k, v in user.items() if v is not None or not _is_mapping(lower.get(k))}

    server = profile is not None and profile.builds == "AsyncEngineArgs"
    names = [*wanted, *(key for key in user if key not in wanted)]
    check_arguments(names, version, server=server)
    check_architectures({**wanted, **user}, version)
    if wanted.get("trust_remote_code") and "trust_remote_code" not in user:
        raise RemoteCodeError(
            f"preset {bound.name if bound else ''!r} sets trust_remote_code=True, which runs "
            "Python code from the checkpoint; set trust_remote_code=True yourself "
            "(--trust-remote-code) to allow it"
        )
    merged = deep_merge(lower, user)
    if bound:
        problems = [*_lost(bound, wanted, user, merged), *_defeated(bound, user)]
        if problems:
            raise ContradictionError(problems)
        _compose(bound, wanted, lower, merged)
    if profile:
        check_guards({"preset": wanted, "user": user}, profile)
    layers = {"consumer": profile.defaults if profile else {}, "preset": wanted, "user": user}
    return Merged(merged, layers, version, consumer)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _lost(
    preset: Preset, wanted: Mapping[str, Any], user: Mapping[str, Any], merged: Mapping[str, Any]
) -> Iterable[str]:
    """The essential values, and an opt-in to remote code, that the user's kwargs override."""
    for key in dict.fromkeys([*preset.essential, "trust_remote_code"]):
        value = lookup(wanted, key)
        top = key.partition(".")[0]
        composed = callable(user.get(top)) and isinstance(wanted.get(top), Mapping)
        if value is MISSING or composed or holds(value, found := lookup(merged, key)):
            continue
        yours = f"{key}={found!r}" if found is not MISSING else f"{top}={user.get(top)!r}"
        yield f"{key}: the preset {preset.name!r} needs {value!r}, you set {yours}"


def _defeated(preset: Preset, user: Mapping[str, Any]) -> Iterable[str]:
    for conflict in preset.conflicts:
        value = lookup(user, conflict.key)
        if value is MISSING:
            continue
        if value in conflict.values if conflict.values else not is_zero(value):
            yield (
                f"{conflict.key}: you set {value!r}, which defeats the preset {preset.name!r}: "
                f"{conflict.reason}"
            )


def _compose(
    preset: Preset, wanted: Mapping[str, Any], lower: Mapping[str, Any], merged: dict[str, Any]
) -> None:
    below, then = lower.get("hf_overrides"), merged.get("hf_overrides")
    if not (callable(then) and isinstance(below, Mapping) and below):
        return
    essential = {
        tuple(key.split(".")[1:]): value
        for key in preset.essential
        if key.partition(".")[0] == "hf_overrides" and (value := lookup(wanted, key)) is not MISSING
    }
    merged["hf_overrides"] = ComposedOverrides(dict(below), then, essential, preset.name)
