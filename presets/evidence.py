"""What the committed records say of a preset: the runs behind its claims."""

import functools
from collections import Counter

import msgspec
from packaging.version import Version

from presets.errors import UnsupportedVersionError
from presets.preset import Preset
from presets.ranges import base_version, parse_range
from presets.registry import DATA


class Cell(msgspec.Struct, frozen=True):
    """What is read of a record here; ``harness.records.Record`` is the whole."""

    preset: str
    preset_hash: str
    verdict: str
    expected: str
    device: str
    date: str


class Evidence(msgspec.Struct, frozen=True):
    """The cells of one preset on one vLLM version."""

    vllm: str
    """The newest version with records of it; empty if there is none."""
    verdict: str
    """``needed`` where some cell is and every one that ran came out as claimed; the verdict of the
    first that did not; ``unknown`` where a claim was not run since it was changed."""
    cells: dict[str, int]
    """Verdict -> number of cells."""


def recorded_versions() -> list[str]:
    """The vLLM versions of which there are records, oldest first."""
    return sorted((path.stem for path in (DATA / "records").glob("*.jsonl")), key=Version)


def evidence(preset: Preset) -> Evidence:
    """What ran for a preset, on the newest version of which there are records of it.

    A record counts while nothing that its run depends on has changed in the preset's file; where a
    claim has none, the verdict is ``unknown``.
    """
    for version in reversed(recorded_versions()):
        made = {cell.preset_hash: cell for cell in _cells(version).get(preset.name, [])}
        try:
            wanted = _claims(preset.for_version(version))
        except UnsupportedVersionError:
            continue
        cells = [made[digest] for digest in wanted if digest in made]
        if cells:
            verdict = _verdict(cells) if len(cells) == len(wanted) else "unknown"
            return Evidence(version, verdict, dict(Counter(c.verdict for c in cells)))
    return Evidence("", "unknown", {})


def _claims(preset: Preset) -> list[str]:
    """The digests of the claims that can be tried without a GPU; of an unproven preset, of all."""
    version = base_version(preset.vllm)
    return [
        preset.digest(claim)
        for claim in preset.claims
        if (preset.unproven or not claim.on_hub)
        and claim.device in (None, "cpu")
        and version in parse_range(claim.vllm)
    ]


def _verdict(cells: list[Cell]) -> str:
    ran = [c for c in cells if c.verdict != "unknown"]
    missed = [c.verdict for c in ran if c.verdict != c.expected]
    found = missed or sorted((c.verdict for c in ran), key=lambda v: v != "needed")
    return found[0] if found else "unknown"


@functools.cache
def _cells(vllm: str) -> dict[str, list[Cell]]:
    decoder = msgspec.json.Decoder(Cell)
    found: dict[str, list[Cell]] = {}
    for cell in decoder.decode_lines((DATA / "records" / f"{vllm}.jsonl").read_bytes()):
        found.setdefault(cell.preset, []).append(cell)
    return found
