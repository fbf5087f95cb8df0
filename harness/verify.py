"""Run cells: build the checkpoint, compute the reference, run both sides, judge."""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from harness import engine, records, tiny
from harness.cells import Cell
from harness.errors import HarnessError
from harness.hub import cannot_run, download
from harness.isolation import Isolation
from harness.outcome import Environment, Outcome, Reference, Request
from harness.records import Record
from harness.reference import Parity, Wanted, compare, reference
from harness.verdict import Side, judge
from presets.errors import PresetsError
from presets.facts import read_facts
from presets.repair import apply
from presets.source import Folder
from presets.when import matches

DEADLINE = 600.0
"""Seconds for one engine run. A tiny one takes 1 to 3; the first of a class on a fresh machine
up to a minute, while vLLM inspects it; Hub checkpoints load gigabytes."""


class Verifier:
    """Runs cells in one environment. Checkpoints and references are shared between its cells."""

    def __init__(self, isolation: Isolation, environment: Environment) -> None:
        self.isolation = isolation
        self.environment = environment
        self._references: dict[tuple[Path, Wanted], Reference] = {}

    def run(self, cell: Cell, deadline: float = DEADLINE) -> Record:
        """The record of one cell. Whatever keeps the cell from being run makes it ``blocked``."""
        start = time.perf_counter()
        if cell.unknown:
            return records.record(cell, self.environment, "unknown", cell.unknown, 0.0)
        if self.environment.problem:
            return records.record(cell, self.environment, "blocked", self.environment.problem, 0.0)
        if cell.claim.on_hub and (why := cannot_run(cell.claim, self.environment)):
            return records.record(cell, self.environment, "blocked", why, 0.0)
        try:
            healthy, broken = self.checkpoint(cell)
            wanted = self.reference_for(cell, healthy)
            matched = _applies(cell, broken)
            control = self._side(cell, broken, wanted, {}, deadline)
            with tempfile.TemporaryDirectory() as folder:
                repaired = _repaired(cell, healthy, broken, Path(folder))
                cured = repaired == broken or not _applies(cell, repaired)
                treatment = self._side(cell, repaired, wanted, dict(cell.preset), deadline)
            fingerprint = self.isolation.call(tiny.fingerprint, broken, answer=str)
        except (HarnessError, PresetsError) as error:
            seconds = time.perf_counter() - start
            reason = str(error).splitlines()[0]  # what follows is a traceback
            return records.record(cell, self.environment, "blocked", reason, seconds)
        verdict, reason = judge(
            cell.claim,
            control,
            treatment,
            matched=matched and cured,
            answered=(cell.claim.answer or "") in treatment.outcome.text,
        )
        return records.record(
            cell,
            self.environment,
            verdict,
            reason,
            time.perf_counter() - start,
            records.run_record(*control),
            records.run_record(*treatment),
            fingerprint,
        )

    def checkpoint(self, cell: Cell) -> tuple[Path, Path]:
        """The healthy checkpoint of a cell and the one with its defects."""
        claim = cell.claim
        if not claim.on_hub:
            build = self.isolation.call
            healthy = build(tiny.build, claim.checkpoint, [], answer=Path)
            return healthy, build(tiny.build, claim.checkpoint, claim.defects, answer=Path)
        source = download(claim.checkpoint, code=_remote_code(cell))
        if not claim.defects:
            return source, source
        return source, self.isolation.call(tiny.damage, source, claim.defects, answer=Path)

    def reference_for(self, cell: Cell, healthy: Path) -> Reference:
        """What transformers computes on the healthy checkpoint, once for each prompt."""
        claim = cell.claim
        wanted = Wanted(
            claim.prompt,
            claim.task,
            claim.pooling,
            tuple(claim.labels),
            trust_remote_code=claim.on_hub and _remote_code(cell),
        )
        key = (healthy, wanted)
        if key not in self._references:
            (architecture, *_) = read_facts(healthy).architectures or ("AutoModelForCausalLM",)
            self._references[key] = self.isolation.call(
                reference,
                str(healthy),
                architecture,
                wanted,
                self.dtype(cell),
                self.environment.device,
                answer=Reference,
            )
        return self._references[key]

    def dtype(self, cell: Cell) -> str:
        """float32 wherever it fits: it leaves no room for excuses. Hub checkpoints on a GPU run
        in bfloat16, as they are served; a claim whose model needs another dtype says so.
        """
        if dtype := cell.claim.engine.get("dtype"):
            return str(dtype)
        on_gpu = self.environment.device == "cuda"
        return "bfloat16" if on_gpu and cell.claim.on_hub else "float32"

    def _side(
        self, cell: Cell, folder: Path, wanted: Reference, kwargs: dict[str, Any], deadline: float
    ) -> Side:
        dtype = self.dtype(cell)
        request = Request(
            str(folder),
            wanted.prompt,
            {"dtype": dtype, **cell.claim.engine, **kwargs},
            cell.claim.task,
        )
        outcome: Outcome = engine.run(self.isolation, request, deadline)
        parity: Parity | None = compare(outcome, wanted, dtype) if outcome.ok else None
        return Side(outcome, parity)


def _applies(cell: Cell, folder: Path) -> bool:
    """Whether the preset's condition holds, or the user alone decides."""
    return bool(cell.preset.intent) or matches(cell.preset, read_facts(folder)) is not None


def _repaired(cell: Cell, healthy: Path, broken: Path, folder: Path) -> Path:
    """The checkpoint of the treatment. A fault has no kwargs: it is what its steps make of the
    broken one, or else the healthy one.
    """
    if not cell.preset.repair:
        return broken
    if cell.preset.steps is None:
        return healthy
    apply(cell.preset.steps, Folder(broken), folder / "repaired", Folder(healthy))
    return folder / "repaired"


def _remote_code(cell: Cell) -> bool:
    return bool(cell.preset.get("trust_remote_code"))


def verify(
    verifier: Verifier,
    todo: Iterable[Cell],
    *,
    write_to: Path | None = None,
    resume: bool = False,
    starting: Callable[[Cell], None] | None = None,
) -> Iterator[Record]:
    """Run cells one after the other and yield a record for each.

    ``write_to``: a JSON-lines file that every record is appended to as soon as it exists.
    ``resume``: take the record of a cell whose inputs have not changed from that file, unless it
    was blocked, instead of running it again. ``starting`` is called before each run.
    """
    finished: dict[str, Record] = {}
    if resume and write_to is not None and write_to.exists():
        finished = {r.key: r for r in records.read(write_to) if r.verdict != "blocked"}
    for cell in todo:
        known = finished.get(cell.key(verifier.environment))
        if known is not None:
            yield known
            continue
        if starting is not None:
            starting(cell)
        entry = verifier.run(cell)
        if write_to is not None:
            records.append(write_to, entry)
        yield entry
