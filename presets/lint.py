"""Check data files beyond their schema, for whoever adds one."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import Version

from presets.architectures import absent, named, unheard_of
from presets.arguments import check_arguments
from presets.check import Check
from presets.errors import DataError, UnknownArgumentError
from presets.ranges import parse_range
from presets.registry import DATA, consumer_names, engine_versions, names
from presets.schema import ConsumerFile, PresetFile, json_schema
from presets.tree import leaves
from presets.validate import read_consumer, read_preset

SCHEMAS: dict[str, type[msgspec.Struct]] = {
    "check.schema.json": Check,
    "preset.schema.json": PresetFile,
    "consumer.schema.json": ConsumerFile,
}


def shipped() -> list[Path]:
    """Every data file of the package."""
    return [
        DATA / kind / f"{name}.toml"
        for kind, found in (("presets", names()), ("consumers", consumer_names()))
        for name in found
    ]


def lint(paths: Iterable[Path | str]) -> list[str]:
    """Every problem of every file, one ``file: path: what`` each; empty if there is none.

    Names and aliases are compared with those of the shipped presets, too; a file with the name
    of a shipped one stands in for it.
    """
    problems: list[str] = []
    presets: dict[str, PresetFile] = {}
    for path in map(Path, paths):
        try:
            if _holds_consumer(path):
                problems += [f"{path.name}: {p}" for p in _consumer(read_consumer(path))]
            else:
                presets[path.name] = file = read_preset(path)
                problems += [f"{path.name}: {p}" for p in _preset(file)]
        except DataError as error:
            problems += error.problems
    return problems + _names(presets)


def schema_text(name: str) -> str:
    """The text of a shipped JSON Schema, as generated from the structs."""
    text = msgspec.json.encode(json_schema(SCHEMAS[name]), order="sorted")
    return msgspec.json.format(text, indent=1).decode() + "\n"


def stale_schemas() -> list[str]:
    """A problem for each shipped JSON Schema that is not what the structs give."""
    return [
        f"{name}: not what the structs give; run: presets lint --write-schema"
        for name in SCHEMAS
        if not (DATA / name).is_file()
        or (DATA / name).read_text(encoding="utf-8") != schema_text(name)
    ]


def write_schemas() -> list[Path]:
    """Write the shipped JSON Schemas; the paths written."""
    for name in SCHEMAS:
        (DATA / name).write_text(schema_text(name), encoding="utf-8")
    return [DATA / name for name in SCHEMAS]


def _holds_consumer(path: Path) -> bool:
    if path.parent.name in ("presets", "consumers"):
        return path.parent.name == "consumers"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return not any(line.startswith(("[[kwargs", "[[claims")) for line in text.splitlines())


def _preset(file: PresetFile) -> Iterable[str]:
    for i, block in enumerate(file.kwargs):
        where = f"kwargs[{i}].engine"
        yield from _unknown(block.engine, block.vllm, where)
        yield from _no_json(block.engine, where)
        for key, classes in named(block.engine):
            if not _is_names(classes):
                yield f"{where}.{key}: must be a list of class names, got {classes!r}"
                continue
            yield from _no_such_class(classes, block.vllm, f"{where}.{key}")
    for i, claim in enumerate(file.claims):
        yield from _unknown(claim.engine, claim.vllm, f"claims[{i}].engine")


def _consumer(file: ConsumerFile) -> Iterable[str]:
    newest = f">={engine_versions()[-1]}"
    server = file.builds == "AsyncEngineArgs"
    yield from _unknown(file.defaults, newest, "defaults", server)
    yield from _no_json(file.defaults, "defaults")
    for i, guard in enumerate(file.guards):
        top = guard.key.partition(".")[0]
        yield from _unknown({top: None}, newest, f"guards[{i}].key", server)
        yield from _unknown(guard.trial, newest, f"guards[{i}].trial", server)
    for i, one in enumerate(file.harmless):
        yield from _unknown(one.trial, newest, f"harmless[{i}].trial", server)


def _no_such_class(names: list[str], versions: str, where: str) -> Iterable[str]:
    """Class names that no recorded version has, or not every one in the range."""
    for name in names:
        problems = [unheard_of(name), *(absent(name, v) for v in _within(versions))]
        if problem := next(filter(None, problems), ""):
            yield f"{where}: {name}: {problem}"


def _within(versions: str) -> list[str]:
    """The recorded versions in a range, or its start if none is recorded."""
    window = parse_range(versions)
    return [v for v in engine_versions() if Version(v) in window] or [str(window.low)]


def _unknown(
    engine: Mapping[str, Any], versions: str, where: str, server: bool = False
) -> Iterable[str]:
    """Arguments that a version in the range lacks; one problem an argument, for the oldest."""
    for name in engine:
        for version in _within(versions):
            try:
                check_arguments([name], version, server=server)
            except UnknownArgumentError as error:
                yield f"{where}.{error}"
                break


def _no_json(engine: Mapping[str, Any], where: str) -> Iterable[str]:
    for path, value in leaves(engine):
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, str | int | float | bool | list | Mapping) or (
                isinstance(item, float) and not math.isfinite(item)
            ):
                yield f"{where}.{'.'.join(path)}: {item!r} has no JSON form"


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def _names(files: Mapping[str, PresetFile]) -> list[str]:
    """Names and aliases that two presets share, or one preset twice."""
    everything = dict(files)
    for path in (DATA / "presets").glob("*.toml"):
        if path.name not in everything:
            try:
                everything[path.name] = read_preset(path)
            except DataError:
                continue  # reported where that file is linted itself
    owners: dict[str, list[str]] = {}
    for file_name, file in sorted(everything.items()):
        for name in (file.name, *file.aliases, *file.deprecated_aliases):
            owners.setdefault(name, []).append(file_name)
    return [
        f"{owner}: {name!r} is taken, by {_others(holders, owner)}"
        for name, holders in sorted(owners.items())
        if len(holders) > 1
        for owner in dict.fromkeys(holders)
        if owner in files
    ]


def _others(holders: list[str], owner: str) -> str:
    return " and ".join(holder for holder in holders if holder != owner) or "itself"
