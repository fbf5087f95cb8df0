"""Nested kwargs as trees: look up, walk, copy, merge and compare them."""

from collections.abc import Iterator, Mapping
from typing import Any

MISSING: Any = object()
Path = tuple[str, ...]


def lookup(tree: Any, key: str) -> Any:
    """The value at a dotted key, or ``MISSING``."""
    return dig(tree, tuple(key.split(".")))


def dig(tree: Any, path: Path) -> Any:
    """The value at a path, or ``MISSING``."""
    for part in path:
        if not isinstance(tree, Mapping) or part not in tree:
            return MISSING
        tree = tree[part]
    return tree


def leaves(tree: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that is no mapping, or an empty one, with its path."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def copied(value: Any) -> Any:
    """A copy that shares no mapping, list, tuple or set with ``value``.

    Anything else is the same object: a callable must stay the one the caller passed, and a
    config object of the engine need not be copyable.
    """
    if isinstance(value, Mapping):
        return {key: copied(v) for key, v in value.items()}
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(copied(v) for v in value)
    return value


def deep_merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """``upper`` over ``lower``: mappings merge at every depth, everything else replaces."""
    merged = {key: copied(value) for key, value in lower.items()}
    for key, value in upper.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = deep_merge(below, value)
        else:
            merged[key] = copied(value)
    return merged


def holds(expected: Any, found: Any) -> bool:
    """Whether ``found`` is ``expected``, or a mapping with everything ``expected`` has."""
    if isinstance(expected, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and holds(value, found[key]) for key, value in expected.items()
        )
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        return list(expected) == list(found)
    return bool(expected == found)


def is_zero(value: Any) -> bool:
    """Null, false, zero, empty, or a mapping of nothing but such values."""
    if isinstance(value, Mapping):
        return all(is_zero(v) for v in value.values())
    return not value
