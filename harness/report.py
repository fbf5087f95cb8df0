"""What a run of cells is shown as: one table for people, one JSON object for programs."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
from rich.console import Console
from rich.table import Table

from harness.records import NOT_RUN, Record, RunRecord
from harness.verdict import Verdict

STYLE = {
    "needed": "green",
    "excluded": "green",
    "unneeded": "yellow",
    "unknown": "yellow",
    "broken": "bold red",
    "wrong-failure": "bold red",
    "blocked": "bold red",
}


def totals(records: Sequence[Record]) -> dict[str, int]:
    """Verdict -> number of cells, the verdicts that occur, in the order of ``Verdict``."""
    counted = Counter(r.verdict for r in records)
    return {v: counted[v] for v in get_args(Verdict) if counted[v]}


def all_held(records: Sequence[Record]) -> bool:
    """Every cell that ran has the verdict that its claim declares, and at least one ran."""
    ran = [r for r in records if r.verdict != "unknown"]
    return bool(ran) and all(r.held for r in ran)


def as_json(records: Sequence[Record]) -> str:
    """One object: ``cells``, ``totals`` by verdict, ``ok``."""
    cells: list[dict[str, Any]] = [msgspec.to_builtins(r) | {"held": r.held} for r in records]
    return msgspec.json.format(
        msgspec.json.encode({"cells": cells, "totals": totals(records), "ok": all_held(records)}),
        indent=2,
    ).decode()


def print_table(records: Sequence[Record], console: Console) -> None:
    """One row a cell, then one line of conclusion."""
    table = Table(title=_title(records), title_justify="left", expand=False)
    for name in ("checkpoint", "without the preset", "with the preset", "verdict", "seconds"):
        table.add_column(name, overflow="fold", justify="right" if name == "seconds" else "left")
    for r in records:
        verdict = f"[{STYLE[r.verdict]}]{r.verdict}[/]"
        if not r.held and r.verdict != "unknown":
            verdict += f"\n(claimed: {r.expected})"
        table.add_row(
            _escape(r.label),
            _run(r.control),
            _run(r.treatment),
            verdict + (f"\n{_escape(r.reason)}" if r.reason and not r.held else ""),
            f"{r.seconds:.1f}",
        )
    console.print(table)
    console.print(conclusion(records))


def conclusion(records: Sequence[Record]) -> str:
    """E.g. ``every claim that ran held: 9 needed, 1 excluded``."""
    counted = ", ".join(f"{n} {v}" for v, n in totals(records).items()) or "no cell ran"
    missed = sum(not r.held for r in records if r.verdict != "unknown")
    if all_held(records):
        return f"every claim that ran held: {counted}"
    return f"{missed} of {len(records)} claims did NOT hold: {counted}"


def _title(records: Sequence[Record]) -> str:
    if not records:
        return ""
    e = records[0].environment
    names = ", ".join(dict.fromkeys(r.preset for r in records))
    on = e.gpu or e.device
    return f"{names}: vLLM {e.vllm} on {on}, transformers {e.transformers}, torch {e.torch}"


def _run(run: RunRecord) -> str:
    if run == NOT_RUN:
        return "not run"
    if not run.ok:
        return f"fails at {run.stage}: {_escape(_gist(run.error or ''))}"
    if run.parity is None:
        return "answers"
    worst = run.parity.max_logprob_diff
    if run.parity.ok:
        return f"ok, parity within {worst:.0e}"
    return f"answers, but off the reference by {'NaN' if worst is None else f'{worst:.2g}'}"


def _gist(error: str) -> str:
    """The line of an error that says something, cut to fit a cell of the table.

    pydantic's first line only counts the errors; the next one has the text.
    """
    lines = [line.strip() for line in error.splitlines() if line.strip()] or [""]
    line = lines[1] if "validation error" in lines[0] and len(lines) > 1 else lines[0]
    return line if len(line) <= 72 else line[:71] + "…"


def _escape(text: str) -> str:
    return text.replace("[", r"\[")
