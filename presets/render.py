"""Engine kwargs as a consumer takes them: Python keywords, JSON, or command-line flags."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from presets.arguments import Argument, argument
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
    if value is None:
        return [] if known is None or known.default is None else [flag, "None"]
    if isinstance(value, bool):
        if value:
            return [flag]
        if known is not None and known.takes_text:
            raise KwargsError(f"{name}: false cannot be given on the command line; leave it out")
        return ["--no-" + flag.removeprefix("--")]
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        if not items:
            raise KwargsError(f"{name}: an empty list cannot be given on the command line")
        return [flag, *(_scalar(name, item) for item in items)]
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
