"""Keys that a consumer must own itself, because it keeps other state in step with them."""

from collections.abc import Iterable, Mapping
from typing import Any

from presets.errors import GuardError
from presets.schema import ConsumerFile, Guard
from presets.tree import MISSING, lookup


def check_guards(layers: Mapping[str, Mapping[str, Any]], consumer: ConsumerFile) -> None:
    """GuardError for every key in ``layers`` that ``consumer`` reserves.

    Parameters
    ----------
    layers:
        Kwargs by the name of who set them ("preset", "user").
    consumer:
        The profile that holds the guards. A guard on ``a`` is hit by ``a`` and by ``a.b``; one
        on ``a.b`` is hit by neither ``a`` alone nor ``a.c``.
    """
    problems = list(_hits(layers, consumer))
    if problems:
        raise GuardError(problems)


def _hits(layers: Mapping[str, Mapping[str, Any]], consumer: ConsumerFile) -> Iterable[str]:
    for layer, kwargs in layers.items():
        for guard in consumer.guards:
            value = lookup(kwargs, guard.key)
            if value is not MISSING and (not guard.values or value in guard.values):
                yield _line(guard, value, layer, consumer.name)


def _line(guard: Guard, value: Any, layer: str, consumer: str) -> str:
    return (
        f"{guard.key}={value!r} (from the {layer}): reserved by {consumer}, failure: "
        f"{guard.failure}; {guard.reason.rstrip('.')}; instead: {guard.instead.rstrip('.')}"
    )
