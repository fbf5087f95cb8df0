"""Does a checkpoint load, and if not, what repairs it: decided from its files alone."""

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from presets.engines import neighbours
from presets.errors import CheckpointError, GuardError, UnsupportedVersionError
from presets.facts import Facts, read_facts
from presets.loads import layouts, seen_to_load
from presets.merge import merge
from presets.preset import Preset
from presets.registry import DATA, bind, consumer, default_vllm, names
from presets.render import render
from presets.schema import Condition
from presets.source import Folder, Source
from presets.when import matches, seen_by

_REPO = re.compile(r"\w[\w.-]*/[\w.-]+(@[\w./-]+)?")

Verdict = Literal["loads", "preset", "fault", "unknown"]


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One preset, or fault, whose condition the checkpoint meets."""

    verdict: Literal["preset", "fault"]
    code: str
    """Stable; ``presets explain CODE`` says what it means."""
    preset: str
    """Name of the preset or the fault."""
    engine_kwargs: dict[str, Any]
    """Empty for a fault."""
    reason: str
    fix: str
    """What to pass, in the form of the consumer asked for, or what to do to the checkpoint."""
    evidence: list[str]
    """Links."""


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on one checkpoint for one vLLM version, and what else was found."""

    checkpoint: str
    vllm: str
    consumer: str | None
    verdict: Verdict
    code: str
    """Of the condition, or ``loads``, or ``unknown``."""
    preset: str | None
    engine_kwargs: dict[str, Any]
    reason: str
    fix: str
    evidence: list[str]
    also: list[Finding]
    """Further findings: what else is wrong, or would help as well; the likeliest first."""
    facts: dict[str, Any]
    """What was read, in short."""


def check(checkpoint: str | Path, vllm: str | None = None, consumer: str | None = None) -> Check:
    """The verdict on a checkpoint: a local folder, or "org/name[@revision]" on the Hub.

    Reads config.json, file names and safetensors headers. ``vllm`` defaults to the installed
    version, or the newest recorded one; ``consumer`` is who builds the engine, e.g.
    ``"trl-colocate"``.

    Raises
    ------
    CheckpointError
        A file without which nothing can be said is missing, unreadable or malformed.
    UnsupportedVersionError, UnknownNameError
        ``vllm`` is no version, or ``consumer`` is not known.
    """
    return check_source(open_checkpoint(checkpoint), vllm, consumer)


def open_checkpoint(checkpoint: str | Path) -> Source:
    """The files of a local folder, which comes first, or of a repository on the Hub."""
    if isinstance(checkpoint, Path) or Path(checkpoint).exists():
        return Folder(Path(checkpoint))
    if not _REPO.fullmatch(checkpoint):
        raise CheckpointError(f"{checkpoint}: no folder, and no Hub repo id (org/name[@revision])")
    from presets.hub import open_repo  # costs more than all the rest of the import

    return open_repo(checkpoint)


def check_source(source: Source, vllm: str | None = None, consumer: str | None = None) -> Check:
    """As ``check``, wherever the files are."""
    version = vllm or default_vllm()
    facts = seen_by(read_facts(source), version)
    found = findings(facts, version, consumer)
    about = (source.name, version, consumer)
    if found:
        first, *also = found
        return Check(
            *about,
            first.verdict,
            first.code,
            first.preset,
            first.engine_kwargs,
            first.reason,
            first.fix,
            first.evidence,
            also,
            summary(facts),
        )
    seen = [seen_to_load(facts, layouts(v)) for v in neighbours(version)]
    like = [layout.family for layout, _ in seen if layout]
    if seen and len(like) == len(seen):
        why = f"vLLM {' and '.join(neighbours(version))} loaded one with this layout: {like[0]}"
        return Check(*about, "loads", "loads", None, {}, why, "", [], [], summary(facts))
    why = next((reason for _, reason in seen if reason), "no engine version was recorded")
    return Check(*about, "unknown", "unknown", None, {}, why, "", [], [], summary(facts))


def findings(facts: Facts, vllm: str, consumer: str | None = None) -> list[Finding]:
    """Every preset and fault whose condition holds; the one to act on comes first.

    Damage to the files comes before what engine arguments repair, which comes before faults; among
    equals the condition that asks for more.
    """
    ranked = []
    declared = facts.architectures[0] if facts.architectures else ""
    for name in names():
        if not _may_match(name, declared):
            continue
        try:
            preset = bind(name, vllm, untested=True)
        except UnsupportedVersionError:
            continue  # not offered for this version
        if condition := matches(preset, facts):
            rank = 0 if condition.marks and preset.repair else 2 if preset.repair else 1
            ranked.append((rank, -_asked(condition), name, preset, condition))
    ranked.sort(key=lambda entry: entry[:3])
    return [_finding(preset, condition, facts, consumer) for *_, preset, condition in ranked]


def _may_match(name: str, declared: str) -> bool:
    """Whether some condition in a preset's file names the declared class, or none at all.

    Seen in its text: to parse the TOML of all of them would take most of the time of a check.
    """
    _, *conditions = (DATA / "presets" / f"{name}.toml").read_text("utf-8").split("[[when]]")
    return any(
        f'"{declared}"' in asked or "\narchitectures" not in asked
        for asked in (text.partition("\n[[")[0] for text in conditions)
    )


def _finding(preset: Preset, condition: Condition, facts: Facts, consumer: str | None) -> Finding:
    marks = "; ".join(facts.marks[mark] for mark in condition.marks)
    return Finding(
        "fault" if preset.repair else "preset",
        code(preset, condition),
        preset.name,
        dict(preset),
        f"{condition.why}: {marks}" if marks else condition.why,
        advice(preset, consumer),
        list(preset.sources),
    )


def code(preset: Preset, condition: Condition) -> str:
    """The stable code of a condition: the preset's name, with the condition's own if it has one."""
    return f"{preset.name}/{condition.code}" if condition.code else preset.name


def advice(preset: Preset, name: str | None) -> str:
    """What to pass, in the form of the consumer of that name, or what to do to the checkpoint."""
    if not preset.repair:
        return _handed_over(preset, name)
    if preset.steps is None:
        return preset.repair
    base = " --base DIR" if preset.steps.copy else ""
    return f"{preset.repair} Or: presets repair CKPT --out DIR{base}"


def _handed_over(preset: Preset, name: str | None) -> str:
    opt_in = {"trust_remote_code": True} if "trust_remote_code" in preset else {}
    profile = consumer(name) if name else None
    try:
        merged = merge(preset, opt_in, name, untested=True)
    except GuardError as error:
        return f"{name} reserves what the preset sets: {error}"
    shown = render(merged.handover(), preset.vllm, profile, preset.name)
    return f"{shown}   # {profile.how}" if profile else shown


def _asked(condition: Condition) -> int:
    """How many facts a condition asks for; a range of versions is none."""
    return sum(
        bool(getattr(condition, field))
        for field in condition.__struct_fields__
        if field not in ("why", "code", "vllm")
    )


def summary(facts: Facts) -> dict[str, Any]:
    """What was read, without the names of all tensors."""
    dtypes: dict[str, int] = {}
    for tensor in facts.tensors.values():
        if tensor:
            dtypes[tensor.dtype] = dtypes.get(tensor.dtype, 0) + 1
    return {
        "architectures": list(facts.architectures),
        "model_type": facts.model_type,
        "configs": sorted(k for k, v in facts.config.items() if isinstance(v, dict)),
        "files": sorted(facts.files),
        "tensors": len(facts.tensors),
        "dtypes": dtypes,
        "marks": dict(facts.marks),
        "unread": list(facts.unread),
    }
