"""What the committed records say of a preset: the runs behind its claims."""

import functools
from collections import Counter

import msgspec
from packaging.version import Version

from presets.errors import UnsupportedVersionError
from presets.preset import Preset
from presets.ranges import base_version, parse_range
from presets.registry import DATA


class Outcome(msgspec.Struct, frozen=True):
    """How the run without the preset ended."""

    ok: bool = True
    stage: str | None = None
    error: str | None = None


class Cell(msgspec.Struct, frozen=True):
    """What is read of a record here; ``harness.records.Record`` is the whole."""

    preset: str
    preset_hash: str
    verdict: str
    expected: str
    device: str
    date: str
    checkpoint: str = ""
    defect: str = ""
    control: Outcome = Outcome()


class Evidence(msgspec.Struct, frozen=True):
    """The cells of one preset on one vLLM version."""

    vllm: str
    """The newest version with records of it; empty if there is none."""
    verdict: str
    """``needed`` where some cell is and every one that ran came out as claimed; the verdict of the
    first that did not; ``unknown`` where a claim was not run since it was changed."""
    cells: dict[str, int]
    """Verdict -> number of cells."""


class Proof(msgspec.Struct, frozen=True):
    """One committed run of a preset."""

    vllm: str
    date: str
    device: str
    checkpoint: str
    """A tiny family or a Hub repository, with the defects that were applied to it."""
    verdict: str
    stage: str
    """Where the run without the preset failed; empty where it did not fail."""
    error: str
    """Its error, empty where it did not fail."""
    current: bool
    """False where the claim, the kwargs or the conditions changed after the run: no evidence."""


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


def proofs(preset: Preset) -> list[Proof]:
    """The committed runs of a preset, newest vLLM version first."""
    found = []
    for version in reversed(recorded_versions()):
        try:
            wanted = set(_claims(preset.for_version(version)))
        except UnsupportedVersionError:
            wanted = set()
        for cell in _cells(version).get(preset.name, []):
            made = f"{cell.checkpoint} with {cell.defect}" if cell.defect else cell.checkpoint
            found.append(
                Proof(
                    version,
                    cell.date,
                    cell.device,
                    made,
                    cell.verdict,
                    cell.control.stage or "",
                    cell.control.error or "",
                    cell.preset_hash in wanted,
                )
            )
    return found


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
