"""Records: one JSON line a cell, the evidence of what ran."""

import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from harness.cells import PROTOCOL, Cell, label
from harness.errors import HarnessError
from harness.outcome import Environment, Outcome
from harness.reference import Parity
from harness.verdict import Verdict


class RunRecord(Struct, frozen=True):
    """One of the two runs of a cell."""

    ok: bool = False
    """The engine started and answered; ``parity`` says whether rightly. False with no error
    where the cell could not be run at all."""
    stage: str | None = None
    error: str | None = None
    architecture: str | None = None
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    parity: Parity | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    peak_mib: float = 0.0


NOT_RUN = RunRecord()


class Record(Struct, frozen=True, kw_only=True):
    """The evidence of one cell."""

    preset: str
    family: str
    checkpoint: str
    defect: str
    """The defects, joined with "+"; empty for the healthy checkpoint."""
    engine: dict[str, Any]
    vllm: str
    device: str
    verdict: Verdict
    expected: str
    reason: str
    seconds: float
    """Wall time of the whole cell: checkpoint, reference and both runs."""
    control: RunRecord
    treatment: RunRecord
    environment: Environment
    kwargs: dict[str, Any]
    """The preset's engine kwargs, as used."""
    preset_hash: str
    """``Preset.digest`` of the claim."""
    fingerprint: str | None
    """Of the checkpoint; see ``harness.tiny.fingerprint``."""
    key: str
    date: str
    """UTC, to the second."""
    protocol: int = PROTOCOL

    @property
    def label(self) -> str:
        """What is on the row of a table; as ``Cell.label``."""
        return label(self.checkpoint, self.defect.split("+") if self.defect else [], self.engine)

    @property
    def held(self) -> bool:
        """The verdict is the one that the preset's file claims."""
        return self.verdict == self.expected


def run_record(outcome: Outcome, parity: Parity | None) -> RunRecord:
    return RunRecord(
        ok=outcome.ok,
        stage=outcome.stage,
        error=outcome.error,
        architecture=outcome.architecture,
        tokens=outcome.tokens,
        text=outcome.text,
        parity=parity,
        seconds=outcome.seconds,
        peak_mib=outcome.peak_mib,
    )


def record(
    cell: Cell,
    environment: Environment,
    verdict: Verdict,
    reason: str,
    seconds: float,
    control: RunRecord = NOT_RUN,
    treatment: RunRecord = NOT_RUN,
    fingerprint: str | None = None,
) -> Record:
    return Record(
        preset=cell.preset.name,
        family=cell.preset.family,
        checkpoint=cell.claim.checkpoint,
        defect="+".join(cell.claim.defects),
        engine=cell.claim.engine,
        vllm=environment.vllm,
        device=environment.device,
        verdict=verdict,
        expected=cell.claim.expected,
        reason=reason,
        seconds=round(seconds, 2),
        control=control,
        treatment=treatment,
        environment=environment,
        kwargs=dict(cell.preset),
        preset_hash=cell.preset.digest(cell.claim),
        fingerprint=fingerprint,
        key=cell.key(environment),
        date=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )


def append(path: Path, entry: Record) -> None:
    """Add one line. What a killed run left of a line at the end of the file is cut off first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        whole = path.read_bytes().rpartition(b"\n")
        if whole[2]:
            os.truncate(path, len(whole[0]) + len(whole[1]))
    with path.open("ab") as file:
        file.write(msgspec.json.encode(entry) + b"\n")


def read(path: Path) -> Iterator[Record]:
    """All records of a file. HarnessError names the line that is none; a torn last line (the
    run was killed) is left out.
    """
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            yield msgspec.json.decode(line, type=Record)
        except msgspec.MsgspecError as error:
            if number == len(lines):
                return
            raise HarnessError(f"{path}:{number}: not a record: {error}") from None
