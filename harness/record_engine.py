"""Record what the installed vLLM has: engine arguments and architectures.

Runs inside any environment that has vLLM 0.13.0 or newer. The output holds no paths and nothing of
the machine it ran on, so that recording the same versions twice gives the same file.
"""

import dataclasses
import enum
import inspect
import json
import os
import platform
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

UNIONS = (typing.Union, types.UnionType)
_MAPPED = ("prefix", "substr", "suffix", "regex")
_ABSOLUTE = re.compile(r" ?\(?(?:/[\w.+-]+){2,}\)?")


def record() -> dict[str, Any]:
    """Everything of ``presets.engines.Engine`` but the twins, as plain data."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    import torch
    import transformers
    import vllm
    from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs, FlexibleArgumentParser

    parser = AsyncEngineArgs.add_cli_args(FlexibleArgumentParser())
    flags: dict[str, list[str]] = {name: [] for name in _fields(AsyncEngineArgs)}
    for action in parser._actions:
        # The spellings of the argument itself, not short or deprecated other ones.
        own = "--" + action.dest.replace("_", "-")
        spelt = [o for o in action.option_strings if o in (own, f"--no-{own[2:]}")]
        flags.setdefault(action.dest, []).extend(spelt)

    fields = _fields(EngineArgs)
    taken = inspect.signature(vllm.LLM.__init__).parameters.values()
    extra = {
        p.name: (p.annotation, None if p.default is p.empty else p.default)
        for p in taken
        if p.name != "self" and p.name not in fields and p.kind is not p.VAR_KEYWORD
    }
    return {
        "vllm": _release(vllm.__version__),
        "python": platform.python_version(),
        "torch": _release(torch.__version__),
        "transformers": transformers.__version__,
        "arguments": {name: _argument(*found, flags[name]) for name, found in fields.items()},
        "llm_only": {name: _argument(*found, None) for name, found in extra.items()},
        "async_only": {
            name: _argument(*found, flags[name])
            for name, found in _fields(AsyncEngineArgs).items()
            if name not in fields
        },
        "model_types": _model_types(),
        **_architectures(),
    }


def write(record: dict[str, Any], out: Path) -> None:
    """Write a record as JSON, whole or not at all; one line for each argument or architecture."""
    text = "{\n" + ",\n".join(_lines(record)) + "\n}\n"
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(out)


def _lines(record: dict[str, Any]) -> Iterator[str]:
    for key, value in sorted(record.items()):
        if not isinstance(value, dict):
            yield f" {json.dumps(key)}: {json.dumps(value)}"
            continue
        entries = (
            f"  {json.dumps(name)}: {json.dumps(entry)}"  # the order of a mapper counts
            for name, entry in sorted(value.items())
        )
        yield f" {json.dumps(key)}: {{\n" + ",\n".join(entries) + "\n }"


def _model_types() -> list[str]:
    """What ``model_type`` of a config may be, without code of the checkpoint's own: what
    transformers knows and what vLLM adds.
    """
    from transformers import CONFIG_MAPPING
    from vllm.transformers_utils.config import _CONFIG_REGISTRY

    return sorted({*CONFIG_MAPPING.keys(), *_CONFIG_REGISTRY})


def _architectures() -> dict[str, Any]:
    """Every registered name with its class, imported here to be inspected: vLLM itself inspects
    each in a process of its own, which would take an hour.
    """
    from vllm.config.model import iter_architecture_defaults
    from vllm.model_executor.models import registry

    found = {}
    for name, entry in sorted(registry.ModelRegistry.models.items()):
        where = f"{getattr(entry, 'module_name', '')}:{getattr(entry, 'class_name', '')}"
        known = {"model": where.removeprefix("vllm.model_executor.models.")}
        try:
            known |= _inspected(entry.load_model_cls())
        except Exception as error:
            known["error"] = _ABSOLUTE.sub("", f"{type(error).__name__}: {error}")[:200]
        found[name] = known
    return {
        "architectures": found,
        "suffixes": [suffix for suffix, _ in iter_architecture_defaults()],
        "previously_supported": dict(registry._PREVIOUSLY_SUPPORTED_MODELS),
    }


def _inspected(model: Any) -> dict[str, Any]:
    """The interfaces of a class, as vLLM sees them, and how it renames tensors."""
    from vllm.model_executor.models import registry

    info = registry._ModelInfo.from_model_cls(model)
    values = {f.name: getattr(info, f.name) for f in dataclasses.fields(info)}
    mapper = getattr(model, "hf_to_vllm_mapper", None)
    mapped = {kind: getattr(mapper, f"orig_to_new_{kind}", None) or {} for kind in _MAPPED}
    plain = {
        kind: {getattr(old, "pattern", old): new for old, new in table.items()}
        for kind, table in mapped.items()
        if table
    }
    return {
        "flags": sorted(name for name, value in values.items() if value is True),
        **(
            {"attention": values["attn_type"]}
            if values.get("attn_type", "decoder") != "decoder"
            else {}
        ),
        **({"mapper": plain} if plain else {}),
    }


def _fields(kind: Any) -> dict[str, tuple[Any, Any]]:
    return {f.name: (f.type, _default(f)) for f in dataclasses.fields(kind)}


def _release(version: str) -> str:
    """Without the build: ``2.13.0+cpu`` is ``2.13.0``."""
    return version.partition("+")[0]


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _argument(hint: Any, default: Any, flags: list[str] | None) -> dict[str, Any]:
    return {
        "type": _show(hint),
        "default": _plain(default),
        "json": _takes_object(hint),
        "flags": flags,
    }


def _parts(hint: Any) -> Iterable[Any]:
    """The members of a union, annotations stripped."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        yield from _parts(typing.get_args(hint)[0])
    elif origin in UNIONS:
        for member in typing.get_args(hint):
            yield from _parts(member)
    else:
        yield hint


def _takes_object(hint: Any) -> bool:
    """Whether a value may be given as a JSON object: a mapping, or a config dataclass."""
    if isinstance(hint, str):  # vLLM quotes an annotation whose names it imports for types only
        return bool(re.search(r"\b(dict|Mapping)\b", hint))
    kinds = (typing.get_origin(part) or part for part in _parts(hint))
    return any(
        typing.is_typeddict(kind) or dataclasses.is_dataclass(kind) or issubclass(kind, Mapping)
        for kind in kinds
        if isinstance(kind, type)
    )


def _show(hint: Any) -> str:
    """A type as one would write it; ``repr`` of an annotated one would hold addresses."""
    if isinstance(hint, str):
        return hint
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _show(args[0])
    if origin in UNIONS:
        return " | ".join(map(_show, args))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, args))}]"
    if hint is types.NoneType:
        return "None"
    name = getattr(origin or hint, "__name__", None) or str(hint).removeprefix("typing.")
    inside = ", ".join("..." if a is ... else _list_or(a) for a in args)
    return f"{name}[{inside}]" if inside else name


def _list_or(arg: Any) -> str:
    return f"[{', '.join(map(_show, arg))}]" if isinstance(arg, list) else _show(arg)


def _plain(value: Any) -> Any:
    """A default as JSON; the name of its class where it is an object."""
    if value is None or isinstance(value, bool | int | float | str):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    inner = getattr(value, "default", None)  # a pydantic FieldInfo stands for its own default
    if type(value).__name__ == "FieldInfo":
        factory = getattr(value, "default_factory", None)
        return _plain(factory() if factory else inner)
    return f"{type(value).__name__}()"
