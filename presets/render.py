"""Engine kwargs as a consumer takes them: Python keywords, JSON, or command-line flags."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from presets.arguments import argument
from presets.engines import Argument
from presets.errors import KwargsError


def render(kwargs: Mapping[str, Any], form: str, vllm: str) -> str:
    """The kwargs in a consumer's form: ``"python"`` keywords or ``"cli"`` flags."""
    return as_flags(kwargs, vllm) if form == "cli" else as_keywords(kwargs)


def as_keywords(kwargs: Mapping[str, Any]) -> str:
    """Keywords to paste into a call.

    >>> as_keywords({"hf_overrides": {"architectures": ["Gemma4ForCausalLM"]}})
    "hf_overrides={'architectures': ['Gemma4ForCausalLM']}"
    """
    return ", ".join(f"{name}={value!r}" for name, value in kwargs.items())


def as_json(kwargs: Mapping[str, Any]) -> str:
    """One JSON object; KwargsError where a value has no JSON form, such as a callable."""
    fields = (f"{_dumps(name, name)}: {_dumps(value, name)}" for name, value in kwargs.items())
    return "{" + ", ".join(fields) + "}"


def as_flags(kwargs: Mapping[str, Any], vllm: str) -> str:
    """Flags of ``vllm serve``, quoted for a POSIX shell.

    A mapping is one JSON value. The dotted spelling is never used: vLLM does not merge it with
    the JSON one, but lets it replace the whole value.
    """
    return shlex.join(
        word for name, v in kwargs.items() for word in _flag(name, v, argument(name, vllm))
    )


def _flag(name: str, value: Any, known: Argument | None) -> Iterable[str]:
    flag = "--" + name.replace("_", "-")
    flags = [flag] if known is None or known.flags is None else known.flags
    if flag not in flags:
        raise KwargsError(f"{name}: vLLM has no command-line flag for it")
    if value is True:
        return [flag]
    if value is False and f"--no-{flag[2:]}" in flags:
        return [f"--no-{flag[2:]}"]
    if isinstance(value, tuple | set | frozenset):
        value = sorted(value) if isinstance(value, set | frozenset) else list(value)
    if value is None or value is False or value == []:
        if known is not None and value == known.default:
            return []
        raise KwargsError(f"{name}: {value!r} cannot be given on the command line; leave it out")
    if isinstance(value, list):
        return [flag, *(_scalar(name, item) for item in value)]
    text = _scalar(name, value)
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]


def _scalar(name: str, value: Any) -> str:
    return value if isinstance(value, str) else _dumps(value, name)


def _dumps(value: Any, name: str) -> str:
    import json

    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise KwargsError(
            f"{name}: {value!r} has no JSON form; hand it over as a Python object"
        ) from None
