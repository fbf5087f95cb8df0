"""Decode and check a data file; all problems of a file are reported at once, with their paths."""

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from presets.errors import DataError
from presets.ranges import Range, gaps, overlaps, parse_range
from presets.schema import Claim, Closed, ConsumerFile, Device, PresetFile
from presets.tree import MISSING, lookup

File = TypeVar("File", PresetFile, ConsumerFile)


def read_preset(path: Path, *, shipped: bool = False) -> PresetFile:
    """Decode and check one preset file. DataError lists everything that is wrong with it.

    ``shipped``: a file of the package. Its types are checked, its content (ranges, regular
    expressions) was when it was linted: ``presets check`` reads all of them in each run.
    """
    return _read(path, PresetFile, (lambda _: ()) if shipped else _preset_problems)


def read_consumer(path: Path) -> ConsumerFile:
    """Decode and check one consumer file. DataError lists everything that is wrong with it."""
    return _read(path, ConsumerFile, _consumer_problems)


def _read(path: Path, kind: type[File], check: Callable[[File], Iterable[str]]) -> File:
    import tomllib

    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError([f"{path}: {error.strerror or error}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError([f"{path.name}: not TOML: {error}"]) from None
    try:
        decoded = msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        problems = list(_type_problems(raw, kind, "")) or [str(error)]
        with contextlib.suppress(msgspec.ValidationError):  # the rest, if that was all
            problems += _content_problems(msgspec.convert(_known(raw, kind), kind), path, check)
        raise DataError([f"{path.name}: {p}" for p in problems]) from None
    problems = _content_problems(decoded, path, check)
    if problems:
        raise DataError([f"{path.name}: {p}" for p in problems])
    return decoded


def _content_problems(file: File, path: Path, check: Callable[[File], Iterable[str]]) -> list[str]:
    problems = list(check(file))
    if file.name != path.stem:
        problems.insert(0, f"name: {file.name!r} is not the file's name {path.stem!r}")
    return problems


def _known(raw: Any, kind: Any) -> Any:
    """``raw`` without its unknown fields, at every depth."""
    bare = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
    if isinstance(bare, type) and issubclass(bare, Closed) and isinstance(raw, Mapping):
        hints = get_type_hints(bare, include_extras=True)
        return {key: _known(value, hints[key]) for key, value in raw.items() if key in hints}
    if get_origin(bare) is list and isinstance(raw, list):
        return [_known(value, get_args(bare)[0]) for value in raw]
    return raw


def _type_problems(raw: object, kind: Any, path: str) -> Iterable[str]:
    """Msgspec stops at the first error; descend into structs and lists to find them all."""
    if isinstance(kind, type) and issubclass(kind, Closed) and isinstance(raw, Mapping):
        hints = get_type_hints(kind, include_extras=True)
        for key in sorted(raw.keys() - hints.keys()):
            yield f"{path}{key}: unknown field, known are: {', '.join(hints)}"
        for info in msgspec.structs.fields(kind):
            if info.name in raw:
                yield from _type_problems(raw[info.name], hints[info.name], f"{path}{info.name}.")
            elif info.required:
                yield f"{path}{info.name}: missing"
        return
    bare = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
    if get_origin(bare) is list and isinstance(raw, list) and raw:
        (item,) = get_args(bare)
        for index, value in enumerate(raw):
            yield from _type_problems(value, item, f"{path[:-1]}[{index}].")
        return
    try:
        msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        what, _, inner = str(error).partition(" - at `$")
        yield f"{path[:-1]}{inner.rstrip('`')}: {what}"


def _preset_problems(file: PresetFile) -> Iterable[str]:
    def ranged(path: str, text: str) -> Range | None:
        try:
            return parse_range(text)
        except ValueError as error:
            found.append(f"{path}: {error}")
            return None

    found: list[str] = []
    window = ranged("vllm", file.vllm)
    blocks = [ranged(f"kwargs[{i}].vllm", b.vllm) for i, b in enumerate(file.kwargs)]
    covered = [r for r in blocks if r]
    found += [f"kwargs: {a} and {b} overlap" for a, b in overlaps(covered)]
    if window and blocks and len(covered) == len(blocks) and not found:
        found += [f"kwargs: no block for {gap}" for gap in gaps(covered, window)]
        found += [
            f"kwargs: {b} reaches outside the window {window}"
            for b in covered
            if b.low < window.low or (window.high and (b.high is None or b.high > window.high))
        ]
    if bool(file.kwargs) == bool(file.repair):
        found.append("kwargs, repair: give one: engine kwargs, or what to do to the checkpoint")
    if file.steps and not file.repair:
        found.append("steps: for a fault; a preset's hf_overrides are written by themselves")
    if file.steps and not any(msgspec.structs.astuple(file.steps)):
        found.append("steps: give at least one: rename, set, unset, copy")
    if bool(file.kwargs) != bool(file.essential):
        found.append("essential: names what the kwargs exist for; a fault has none")
    for i, block in enumerate(file.kwargs):
        if file.essential and not any(
            lookup(block.engine, key) is not MISSING for key in file.essential
        ):
            found.append(f"kwargs[{i}].engine: holds none of essential {file.essential}")
    if bool(file.when) == bool(file.intent):
        found.append("when, intent: give one: conditions, or what the user must want")
    codes = [condition.code for condition in file.when]
    if len(set(codes)) < len(codes):
        found.append("when: each condition but one needs a code of its own")
    for i, condition in enumerate(file.when):
        if condition.vllm:
            ranged(f"when[{i}].vllm", condition.vllm)
    for i, claim in enumerate(file.claims):
        found += [f"claims[{i}].{problem}" for problem in _claim_problems(claim, window)]
    found += [f"claims: {problem}" for problem in _clashing(file.claims)]
    if not file.unproven and not any(claim.expected == "needed" for claim in file.claims):
        found.append("claims: none says that the preset is needed")
    if bool(file.unproven) != all(claim.on_hub for claim in file.claims):
        found.append(
            "unproven: why no claim is about a tiny checkpoint; where one is, leave it out"
        )
    if not file.unproven and any(claim.control == "unknown" for claim in file.claims):
        found.append('claims: control = "unknown" is for an unproven preset')
    return found


def _claim_problems(claim: Claim, window: Range | None) -> Iterable[str]:
    try:
        covered = parse_range(claim.vllm)
    except ValueError as error:
        yield f"vllm: {error}"
    else:
        if window and (window.high and covered.low >= window.high):
            yield f"vllm: {covered} lies outside the preset's window {window}"
    for side in ("control", "treatment"):
        failure = getattr(claim, side)
        if not isinstance(failure, str):
            try:
                re.compile(failure.error)
            except re.error as error:
                yield f"{side}.error: no regular expression: {error}"
            if failure.error.startswith("^"):
                yield f"{side}.error: no ^: in a log other text may stand before it"
    if claim.on_hub and claim.memory_gib is None:
        yield "memory_gib: a Hub checkpoint needs the device memory it takes, in GiB"
    if not claim.on_hub and (claim.memory_gib or claim.gated or claim.gpus != 1):
        yield "memory_gib, gated, gpus: only a Hub checkpoint ('org/name') has these"
    if (claim.prompt is None) != (claim.answer is None):
        yield "prompt, answer: give both or none"


def _clashing(claims: list[Claim]) -> Iterable[str]:
    """Claims about the same runs must be about different versions."""
    groups: dict[str, list[Range]] = {}
    for claim in claims:
        for device in [claim.device] if claim.device else get_args(Device):
            made = f"{claim.checkpoint} with defects {claim.defects}"
            asked = " ".join([claim.task, claim.pooling or "", *claim.labels]).rstrip()
            key = f"{made}, engine {claim.engine}, asked to {asked}, {device}"
            try:
                groups.setdefault(key, []).append(parse_range(claim.vllm))
            except ValueError:
                continue  # reported by _claim_problems
    for key, ranges in groups.items():
        for a, b in overlaps(ranges):
            yield f"{a} and {b} overlap for {key}"


def _consumer_problems(file: ConsumerFile) -> Iterable[str]:
    seen: set[str] = set()
    for i, guard in enumerate(file.guards):
        if guard.key in seen:
            yield f"guards[{i}].key: {guard.key!r} is guarded twice"
        seen.add(guard.key)
        if guard.trial and guard.untried:
            yield f"guards[{i}]: a trial, and a reason why there is none"
