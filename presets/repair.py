"""Repair a checkpoint: a copy of it in a new folder, without what a preset or fault is about.

Only what loses nothing: tensors are renamed (a new header, the bytes behind it as they were), keys
of JSON files are set, files of the base model are copied. The steps are data in the faults' files.
"""

import fnmatch
import json
import os
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from presets.check import Check, Finding, check_source, findings
from presets.errors import CheckpointError
from presets.facts import INDEX, MAX_INDEX, MAX_JSON, json_object, read_facts
from presets.header import HeaderError, read_header
from presets.registry import bind, default_vllm
from presets.schema import Steps
from presets.source import Folder
from presets.tree import MISSING, lookup
from presets.when import seen_by

Say = Callable[[str, int], object]
"""Called for every file before it is written: its name, its size in bytes."""
Copy = Callable[[Path, Path], object]


class Repaired(msgspec.Struct, frozen=True):
    """What was done, and what the check says of the result."""

    out: str
    codes: list[str]
    """What was repaired, in this order."""
    changes: list[str]
    """What is different in the new folder, one line each."""
    check: Check


def repair(
    checkpoint: str | Path,
    out: str | Path,
    base: str | Path | None = None,
    vllm: str | None = None,
    say: Say | None = None,
) -> Repaired:
    """Write a repaired copy of a checkpoint to a new folder.

    Parameters
    ----------
    checkpoint:
        A local folder. It is only read.
    out:
        The folder to make. It must not exist; it will be there as a whole or not at all.
    base:
        A local folder with the model that the checkpoint was trained from, for files that were not
        saved.
    vllm:
        The version to repair it for; default as for ``check``.
    say:
        For progress.

    Raises
    ------
    CheckpointError
        Nothing is wrong that can be repaired here, ``base`` is needed, ``out`` exists, or a file
        cannot be read or written.
    """
    source, target = Folder(Path(checkpoint)), Path(out)
    origin = Folder(Path(base)) if base else None
    if os.path.lexists(target):
        raise CheckpointError(f"{target}: exists; name a folder that does not")
    done: list[Finding] = []
    changes: list[str] = []
    work = target.with_name(f".{target.name}.{os.getpid()}")
    version = vllm or default_vllm()
    try:
        _room(source, target)
        work.mkdir()
        here = source
        copy: Copy = shutil.copyfile
        while finding := _next(found := _findings(here, version), done, version, origin):
            there = work / str(len(done))
            changes += apply(_steps(finding, version), here, there, origin, say, copy)
            done.append(finding)
            here, copy = Folder(there), os.link  # ours: its files need not be copied again
        if not done:
            raise CheckpointError(f"{source.name}: {_why_not(found, version)}")
        here.path.rename(target)
    except OSError as error:
        raise CheckpointError(f"{error.filename or target}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    now = check_source(Folder(target), version)
    return Repaired(str(target), [finding.code for finding in done], changes, now)


def apply(
    steps: Steps,
    source: Folder,
    out: Path,
    base: Folder | None = None,
    say: Say | None = None,
    copy: Copy = shutil.copyfile,
) -> list[str]:
    """Take the steps on the way into a new folder; what is different there, one line each.

    Folders inside are copied, too, but for those with a leading dot. CheckpointError and OSError
    as for ``repair``.
    """
    headers = _headers(source) if steps.rename else {}
    names = _renamed([name for header in headers.values() for name in header], steps.rename)
    changes: list[str] = []
    if names:
        changes.append(f"{len(names)} tensors renamed: {' -> '.join(min(names.items()))}, ...")
    edited = {name: _edited(source, name, steps, changes) for name in {*steps.set, *steps.unset}}
    if names and INDEX in source.files:
        index = json_object(source, INDEX, MAX_INDEX)
        index["weight_map"] = {names.get(k, k): v for k, v in index["weight_map"].items()}
        edited[INDEX] = index
    lent = _lent(steps, base)
    changes += [f"{path.name}: copied from {path.parent}" for path in lent]
    out.mkdir()
    for name in source.files.keys() - {path.name for path in lent}:
        if say:
            say(name, source.files[name])
        if name in edited:
            (out / name).write_text(json.dumps(edited[name], indent=2), encoding="utf-8")
        elif not names.keys().isdisjoint(headers.get(name, ())):
            _write_renamed(source, name, out / name, headers[name], names)
        else:
            copy(source.path / name, out / name)
    for path in lent:
        shutil.copyfile(path, out / path.name)
    for path in source.below():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        copy(source.path / path, out / path)
    return changes


def _findings(source: Folder, vllm: str) -> list[Finding]:
    return findings(seen_by(read_facts(source), vllm), vllm)


def _steps(finding: Finding, vllm: str) -> Steps:
    return bind(finding.preset, vllm, untested=True).steps or Steps()


def _next(
    found: list[Finding], done: list[Finding], vllm: str, base: Folder | None
) -> Finding | None:
    """What to repair next: what the base model can give, then other faults, then one preset: where
    there are several, each repairs the same.
    """
    ranked = []
    for finding in found:
        steps = _steps(finding, vllm)
        again = any(
            finding.preset == one.preset or finding.verdict == one.verdict == "preset"
            for one in done
        )
        if steps != Steps() and not again and (base or not steps.copy):
            ranked.append((not steps.copy, finding.verdict == "preset", finding))
    return min(ranked, key=lambda entry: entry[:2], default=(0, 0, None))[2]


def _why_not(found: list[Finding], vllm: str) -> str:
    """Why nothing of what was found is repaired here."""
    if not found:
        return "nothing to repair: no preset or fault matches"
    if lacking := [one.code for one in found if _steps(one, vllm).copy]:
        return f"{lacking[0]}: name the model that it was trained from: --base DIR"
    return f"{found[0].code} cannot be repaired here: {found[0].fix}"


def _room(source: Folder, target: Path) -> None:
    needed, free = sum(source.files.values()), shutil.disk_usage(target.parent).free
    if needed > free:
        raise CheckpointError(f"{target}: {needed >> 20} MiB needed, {free >> 20} MiB are free")


def _headers(source: Folder) -> dict[str, dict[str, Any]]:
    """The header of every safetensors file, as its JSON has it, without the metadata."""
    headers = {}
    for name in source.files:
        if name.endswith(".safetensors"):
            try:
                read_header(partial(source.read, name), source.files[name])
            except HeaderError as error:
                raise CheckpointError(f"{source.name}/{name}: {error}") from None
            headers[name] = json.loads(_raw_header(source, name))
    return headers


def _raw_header(source: Folder, name: str) -> bytes:
    return source.read(name, 8, int.from_bytes(source.read(name, 0, 8), "little"))


def _renamed(names: Iterable[str], prefixes: dict[str, str]) -> dict[str, str]:
    """Old -> new name of every tensor that gets one; two must not become the same."""
    changed: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names:
        new = name
        for old_prefix, new_prefix in prefixes.items():
            has_new = new_prefix.startswith(old_prefix) and new.startswith(new_prefix)
            if new.startswith(old_prefix) and not has_new:
                new = new_prefix + new.removeprefix(old_prefix)
        if taken.setdefault(new, name) != name:
            raise CheckpointError(f"{name} and {taken[new]} would both be named {new}")
        if new != name:
            changed[name] = new
    return changed


def _write_renamed(
    source: Folder, shard: str, out: Path, header: dict[str, Any], names: dict[str, str]
) -> None:
    """A safetensors file with other names in its header; the tensors' bytes follow as they are."""
    text = json.dumps({names.get(name, name): entry for name, entry in header.items()}).encode()
    text += b" " * (-len(text) % 8)
    with (source.path / shard).open("rb") as old, out.open("xb") as new:
        new.write(len(text).to_bytes(8, "little") + text)
        old.seek(8 + len(_raw_header(source, shard)))
        shutil.copyfileobj(old, new, 16 * 2**20)


def _edited(source: Folder, name: str, steps: Steps, changes: list[str]) -> dict[str, Any]:
    """A JSON file with its keys set or taken out."""
    value = json_object(source, name, MAX_JSON)
    for key, wanted in steps.set.get(name, {}).items():
        table, last = _table(value, key)
        table[last] = wanted
        changes.append(f"{name}: {key} = {json.dumps(wanted)}")
    for key in steps.unset.get(name, []):
        if lookup(value, key) is not MISSING:
            table, last = _table(value, key)
            del table[last]
            changes.append(f"{name}: {key} taken out")
    return value


def _table(value: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """The table in which a dotted key is, made where there is none, and the key's last part."""
    *parents, last = key.split(".")
    for parent in parents:
        below = value.get(parent)
        value[parent] = value = below if isinstance(below, dict) else {}
    return value, last


def _lent(steps: Steps, base: Folder | None) -> list[Path]:
    """The files that are copied from the base model."""
    if not steps.copy or base is None:
        return []
    found = [n for n in base.files if any(fnmatch.fnmatchcase(n, p) for p in steps.copy)]
    if not found:
        raise CheckpointError(f"{base.name}: has none of {', '.join(steps.copy)}")
    return [base.path / name for name in found]
