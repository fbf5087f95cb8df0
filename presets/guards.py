"""Keys that a consumer must own itself, because it keeps other state in step with them."""

from collections.abc import Iterable, Mapping
from typing import Any

from presets.errors import GuardError
from presets.schema import ConsumerFile, Guard
from presets.tree import MISSING, leaves, lookup


def check_guards(layers: Mapping[str, Mapping[str, Any]], consumer: ConsumerFile) -> None:
    """GuardError for every key in ``layers`` that ``consumer`` reserves.

    Parameters
    ----------
    layers:
        Kwargs by the name of who set them ("preset", "user").
    consumer:
        The profile that holds the guards. A guard on ``a`` is hit by ``a`` and by ``a.b``; one
        on ``a.b`` is hit by neither ``a`` alone nor ``a.c``. One on ``a`` with ``free`` keys is hit
        by every other key below ``a``, and not by a callable, which nobody can look into.
    """
    problems = list(_hits(layers, consumer))
    if problems:
        raise GuardError(problems)


def _hits(layers: Mapping[str, Mapping[str, Any]], consumer: ConsumerFile) -> Iterable[str]:
    for layer, kwargs in layers.items():
        for guard in consumer.guards:
            value = lookup(kwargs, guard.key)
            if value is MISSING or (guard.values and value not in guard.values):
                continue
            if not guard.free:
                yield _line(guard, guard.key, value, layer, consumer.name)
            elif isinstance(value, Mapping):
                for path, leaf in leaves(value):
                    key = ".".join(path)
                    if not any(key == free or key.startswith(f"{free}.") for free in guard.free):
                        yield _line(guard, f"{guard.key}.{key}", leaf, layer, consumer.name)


def _line(guard: Guard, key: str, value: Any, layer: str, consumer: str) -> str:
    return (
        f"{key}={value!r} (from the {layer}): reserved by {consumer}, failure: "
        f"{guard.failure}; {guard.reason.rstrip('.')}; instead: {guard.instead.rstrip('.')}"
    )
