"""Kwargs in the form a consumer takes: one function a form, by its name in a profile.

What a form cannot say (a callable, a null in TOML) is a KwargsError that names the argument.
"""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from presets.arguments import argument
from presets.engines import Argument
from presets.errors import KwargsError
from presets.schema import ConsumerFile


def render(
    kwargs: Mapping[str, Any], vllm: str, profile: ConsumerFile | None = None, preset: str = ""
) -> str:
    """The kwargs as ``profile`` takes them, to paste; without one, as Python keywords.

    ``preset`` names where they come from, for a program that only the plugin can reach.
    """
    if profile is None:
        return as_keywords(kwargs)
    if profile.form == "environment":
        return f"VLLM_PRESET={preset} VLLM_PRESET_CONSUMER={profile.name}"
    if profile.form == "flags":
        return as_flags(kwargs, vllm)
    if profile.form == "arguments":
        return _arguments(kwargs, vllm, profile.knob)
    if profile.form == "yaml" and not profile.knob:
        return _config_file(kwargs, vllm)
    if profile.form == "hydra":
        return _hydra(kwargs, profile)
    return _FORMS[profile.form](kwargs, profile.knob)


def as_keywords(kwargs: Mapping[str, Any], knob: str = "") -> str:
    """Keywords to paste into a call; with a knob, one keyword that takes them all.

    >>> as_keywords({"hf_overrides": {"architectures": ["Gemma4ForCausalLM"]}})
    "hf_overrides={'architectures': ['Gemma4ForCausalLM']}"
    """
    if knob:
        return f"{knob}={dict(kwargs)!r}"
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
    words: list[str] = []
    for _, (flag, *values) in _flags(kwargs, vllm):
        dashed = len(values) == 1 and values[0].startswith("-")
        words += [f"{flag}={values[0]}"] if dashed else [flag, *values]
    return _words(words)


def _words(words: Iterable[str]) -> str:
    """Words quoted for a POSIX shell: in double quotes where single ones would hide the text."""
    return " ".join(
        '"' + re.sub(r'([\\"])', r"\\\1", word) + '"'
        if "'" in word and not set(word) & set("!$`")
        else shlex.quote(word)
        for word in words
    )


def _json_option(kwargs: Mapping[str, Any], knob: str) -> str:
    """``--vllm_engine_kwargs '{"hf_overrides": ...}'``."""
    return f"{knob} {_words([as_json(kwargs)])}"


def _yaml(kwargs: Mapping[str, Any], knob: str) -> str:
    """A mapping below the knob: JSON, which is YAML, but for numbers such as 1e-05."""
    lines = [f"  {name}: {_tree(name, value, _YAML)}" for name, value in kwargs.items()]
    return "\n".join([f"{knob}:", *lines])


def _config_file(kwargs: Mapping[str, Any], vllm: str) -> str:
    """The file of ``vllm serve --config``: flags without dashes. It drops ``false`` without a word,
    so a flag that says no is one that is true.
    """
    lines = []
    for name, (flag, *values) in _flags(kwargs, vllm):
        value: Any = values if _is_list(kwargs[name]) else values[0] if values else True
        if isinstance(kwargs[name], Mapping):
            value = kwargs[name]
        lines.append(f"{flag[2:]}: {_tree(name, value, _YAML)}")
    return "\n".join(lines)


def _toml(kwargs: Mapping[str, Any], knob: str) -> str:
    """A table of inline values."""
    lines = [f"{name} = {_tree(name, value, _TOML)}" for name, value in kwargs.items()]
    return "\n".join([f"[{knob}]", *lines])


def _hydra(kwargs: Mapping[str, Any], profile: ConsumerFile) -> str:
    """Overrides of Hydra's grammar, each path with its ``+`` or ``++``: one an argument."""
    paths = {k: profile.knobs.get(k, f"{profile.knob}.{k}") for k in kwargs}
    return _words(f"{paths[k]}={_tree(k, value, _HYDRA)}" for k, value in kwargs.items())


def _dotlist(kwargs: Mapping[str, Any], knob: str) -> str:
    """``path=value`` for OmegaConf, which reads the value as YAML."""
    return _words(f"{knob}.{k}={_tree(k, value, _YAML)}" for k, value in kwargs.items())


def _pairs(kwargs: Mapping[str, Any], knob: str) -> str:
    """``--model_args key=literal ...``: Python literals, without a quote inside a quoted text."""
    words = [f"{name}={_tree(name, value, _LITERAL)}" for name, value in kwargs.items()]
    return f"{knob} {_words(words)}"


def _arguments(kwargs: Mapping[str, Any], vllm: str, knob: str) -> str:
    """``KNOB='{"flag": "text"}'``: a variable with the flags of ``vllm serve``, a text each."""
    given: dict[str, Any] = {}
    for name, (flag, *values) in _flags(kwargs, vllm):
        if len(values) > 1:
            raise KwargsError(f"{name}: {knob} takes one value an argument, not {len(values)}")
        given[flag[2:].replace("-", "_")] = values[0] if values else True
    return f"{knob}={_words([as_json(given)])}"


_FORMS: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    "python": as_keywords,
    "json": _json_option,
    "yaml": _yaml,
    "toml": _toml,
    "dotlist": _dotlist,
    "pairs": _pairs,
}


def _flags(kwargs: Mapping[str, Any], vllm: str) -> Iterable[tuple[str, list[str]]]:
    """Of each argument that is not at its default: its flag and the texts behind it."""
    for name, value in kwargs.items():
        if words := _flag(name, value, argument(name, vllm)):
            yield name, words


def _flag(name: str, value: Any, known: Argument | None) -> list[str]:
    flag = "--" + name.replace("_", "-")
    flags = [flag] if known is None or known.flags is None else known.flags
    if flag not in flags:
        raise KwargsError(f"{name}: vLLM has no command-line flag for it")
    if value is True:
        return [flag]
    if value is False and f"--no-{flag[2:]}" in flags:
        return [f"--no-{flag[2:]}"]
    if value is None or value is False or (_is_list(value) and not value):
        if known is not None and value == known.default:
            return []
        raise KwargsError(f"{name}: {value!r} cannot be given on the command line; leave it out")
    if _is_list(value):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [flag, *(_scalar(name, item) for item in items)]
    return [flag, _scalar(name, value)]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset)


def _scalar(name: str, value: Any) -> str:
    return value if isinstance(value, str) else _dumps(value, name)


def _dumps(value: Any, name: str) -> str:
    import json

    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise _no_form(name, value) from None


def _no_form(name: str, value: Any, form: str = "JSON") -> KwargsError:
    return KwargsError(f"{name}: {value!r} has no {form} form; hand it over as a Python object")


class _Syntax:
    """How a language writes what JSON can hold."""

    def __init__(
        self,
        name: str,
        words: Mapping[Any, str],
        text: Callable[[str], str],
        key: Callable[[str], str | None] | None = None,
        colon: str = ": ",
    ) -> None:
        self.name, self.words, self.text, self.colon = name, words, text, colon
        self.key = key or text


def _tree(name: str, value: Any, syntax: _Syntax) -> str:
    """A value at any depth; KwargsError with the argument's name where it cannot be written."""
    if value is None or value is True or value is False:
        if (word := syntax.words.get(value)) is not None:
            return word
    elif isinstance(value, str):
        return syntax.text(value)
    elif isinstance(value, int):
        return str(value)
    elif isinstance(value, float) and math.isfinite(value):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    elif _is_list(value):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return f"[{', '.join(_tree(name, item, syntax) for item in items)}]"
    elif isinstance(value, Mapping):
        fields = []
        for key, item in value.items():
            if not isinstance(key, str) or (written := syntax.key(key)) is None:
                raise _no_form(name, value, syntax.name)
            fields.append(f"{written}{syntax.colon}{_tree(name, item, syntax)}")
        return "{" + ", ".join(fields) + "}"
    raise _no_form(name, value, syntax.name)


_SMALL = {None: "null", True: "true", False: "false"}


def _quoted(text: str) -> str:
    """A JSON string in which no control character is left for YAML or TOML to refuse."""
    import json

    plain = json.dumps(text, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff]", lambda m: f"\\u{ord(m[0]):04x}", plain)


def _hydra_text(text: str) -> str:
    """In double quotes; only a quote, and the backslashes before one or at the end, are escaped."""
    return (
        '"' + re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + ("\\" + m[2] if m[2] else ""), text) + '"'
    )


def _hydra_key(key: str) -> str | None:
    word = re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII)
    return key if word and key.lower() not in ("null", "true", "false", "nan", "inf") else None


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key, re.ASCII) else _quoted(key)


def _literal_text(text: str) -> str:
    r"""A Python literal in which a quote is written ``\x22``; its parser cuts texts at quotes."""
    for char, written in zip('\\"\n\r\0', (r"\\", r"\x22", r"\n", r"\r", r"\0"), strict=True):
        text = text.replace(char, written)
    return f'"{text}"'


_YAML = _Syntax("YAML", _SMALL, _quoted)
_TOML = _Syntax("TOML", {True: "true", False: "false"}, _quoted, _toml_key, " = ")
_HYDRA = _Syntax("Hydra", _SMALL, _hydra_text, _hydra_key, ":")
_LITERAL = _Syntax("Python", {None: "None", True: "True", False: "False"}, _literal_text)
