"""What the committed records say of a preset: the runs behind its claims."""

import functools
from collections import Counter

import msgspec
from packaging.version import Version

from presets.preset import Preset
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
    first that did not; ``unknown`` where none ran since the preset's file was changed."""
    cells: dict[str, int]
    """Verdict -> number of cells."""


def recorded_versions() -> list[str]:
    """The vLLM versions of which there are records, oldest first."""
    return sorted((path.stem for path in (DATA / "records").glob("*.jsonl")), key=Version)


def evidence(preset: Preset) -> Evidence:
    """What ran for a preset, on the newest version that has records of its present file."""
    for version in reversed(recorded_versions()):
        cells = [c for c in _cells(version).get(preset.name, []) if c.preset_hash == preset.digest]
        if cells:
            return Evidence(version, _verdict(cells), dict(Counter(c.verdict for c in cells)))
    return Evidence("", "unknown", {})


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
