"""Engine kwargs as callers hand them in: a mapping, a JSON string, or ``KEY=JSON`` settings."""

from collections.abc import Iterable, Mapping
from typing import Any

from presets.errors import KwargsError
from presets.tree import MISSING, copied, deep_merge


def parse_kwargs(value: Mapping[str, Any] | str | None, vllm: str | None = None) -> dict[str, Any]:
    """Engine kwargs as a dict of their own, from a mapping or the JSON text of one.

    An argument that takes a mapping (``hf_overrides``, ``compilation_config``, ...) may be JSON
    text as well, as a command line or a config field would hand it over. Callables and config
    objects are handed through, everything else is copied.

    Raises
    ------
    KwargsError
        Bad JSON (with its position), a duplicate key, NaN or Infinity, anything that is not an
        object, or a key that is not a string.
    """
    if value is None:
        return {}
    if isinstance(value, str):
        kwargs = _object(value, "engine kwargs")
    elif isinstance(value, Mapping):
        kwargs = copied(value)
    else:
        raise KwargsError(
            f"engine kwargs: expected a mapping or a JSON object, got {type(value).__name__}"
        )
    odd = [key for key in kwargs if not isinstance(key, str)]
    if odd:
        raise KwargsError(f"engine kwargs: keys must be strings, got {', '.join(map(repr, odd))}")
    return {key: _argument(key, v, vllm) for key, v in kwargs.items()}


def parse_set(settings: Iterable[str]) -> dict[str, Any]:
    """Kwargs from ``KEY=JSON`` settings; dots in KEY go into nested objects.

    >>> parse_set(["hf_overrides.max_position_embeddings=4096", "enforce_eager=true"])
    {'hf_overrides': {'max_position_embeddings': 4096}, 'enforce_eager': True}
    """
    kwargs: dict[str, Any] = {}
    problems = []
    for setting in settings:
        key, equals, text = setting.partition("=")
        path = key.strip().split(".")
        if not equals or not all(path):
            problems.append(f"{setting}: write KEY=JSON, e.g. hf_overrides.rope_theta=10000")
            continue
        try:
            value = _json(text, key)
        except KwargsError as error:
            hint = "" if text[:1] in ("{", "[", '"') else "; a string needs double quotes"
            problems.append(f"{error}{hint}")
            continue
        tree: dict[str, Any] = value
        for part in reversed(path):
            tree = {part: tree}
        clash = _clash(kwargs, tree)
        if clash:
            problems.append(f"{clash}: set twice")
        kwargs = deep_merge(kwargs, tree)
    if problems:
        raise KwargsError("\n".join(problems))
    return kwargs


def _argument(name: str, value: Any, vllm: str | None) -> Any:
    if not isinstance(value, str):
        return value
    from presets.arguments import argument
    from presets.registry import engine_versions

    known = argument(name, vllm or engine_versions()[-1])
    if known is None or not known.json:
        return value
    if value.lstrip().startswith("{"):
        return _object(value, name)
    if known.takes_text:
        return value
    raise KwargsError(f"{name}: expected a JSON object, got the string {value!r}")


def _object(text: str, where: str) -> dict[str, Any]:
    value = _json(text, where)
    if not isinstance(value, dict):
        kind = {list: "array", str: "string", type(None): "null", bool: "boolean"}
        found = kind.get(type(value), "number")
        raise KwargsError(f"{where}: expected a JSON object, got a JSON {found}")
    return value


def _json(text: str, where: str) -> Any:
    import json

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise KwargsError(f"{where}: bad JSON: duplicate key {twice!r}")
        return found

    def finite(number: str) -> float:
        value = float(number)
        if value in (float("inf"), float("-inf")):
            raise KwargsError(f"{where}: bad JSON: {number} is too large")
        return value

    def constant(name: str) -> None:
        raise KwargsError(f"{where}: bad JSON: {name} is not a JSON number")

    try:
        return json.loads(
            text, object_pairs_hook=no_duplicates, parse_constant=constant, parse_float=finite
        )
    except json.JSONDecodeError as error:
        position = f"line {error.lineno} column {error.colno}"
        raise KwargsError(f"{where}: bad JSON at {position}: {error.msg}") from None
    except RecursionError:
        raise KwargsError(f"{where}: bad JSON: nested too deeply") from None
    except KwargsError:
        raise
    except ValueError as error:
        raise KwargsError(f"{where}: bad JSON: {error}") from None


def _clash(one: Mapping[str, Any], other: Mapping[str, Any], path: str = "") -> str | None:
    """The first dotted key that both trees set to something that does not merge."""
    for key, a in one.items():
        b = other.get(key, MISSING)
        if b is MISSING:
            continue
        if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
            return path + key
        if clash := _clash(a, b, f"{path}{key}."):
            return clash
    return None
