"""Which healthy tiny checkpoints the installed engine loads, and how their files look."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness import engine, tiny
from harness.errors import HarnessError
from harness.isolation import Isolation
from harness.outcome import Reference, Request
from harness.reference import Wanted, compare, reference
from harness.tiny import smollm2
from harness.tiny.families import FAMILIES
from harness.tiny.tokenizer import PROMPT
from presets.engines import Architecture
from presets.facts import read_facts
from presets.loads import Layout, layout
from presets.schema import Task


class Tried(NamedTuple):
    """One family: its layout if the engine loads it, else why it is not known to."""

    family: str
    layout: Layout | None
    why: str


def try_families(isolation: Isolation, architectures: dict[str, Architecture]) -> Iterator[Tried]:
    """Every tiny family, as it is saved by the installed transformers, with no engine kwargs."""
    for name in [*FAMILIES, smollm2.NAME]:
        try:
            folder = isolation.call(tiny.build, name, [], answer=Path)
            facts = read_facts(folder)
            why = _try(isolation, folder, facts.architectures[0], architectures)
        except HarnessError as error:
            why = str(error).splitlines()[0]
        yield Tried(name, None if why else layout(facts, name), why)


def _try(
    isolation: Isolation, folder: Path, declared: str, architectures: dict[str, Architecture]
) -> str:
    """Why the engine does not load it rightly; empty if it does."""
    known = architectures.get(declared)
    generates = known is not None and "is_text_generation_model" in known.flags
    pooled: Task = "classify" if declared.endswith("Classification") else "embed"
    wanted = Reference([], list(PROMPT))
    if generates:
        wanted = isolation.call(
            reference, str(folder), declared, Wanted(), "float32", "cpu", answer=Reference
        )
    task = "generate" if generates else pooled
    outcome = engine.run(isolation, Request(str(folder), wanted.prompt, {}, task), 600)
    if not outcome.ok:
        return f"{outcome.stage}: {(outcome.error or '').strip().splitlines()[0]}"
    if generates and not compare(outcome, wanted, "float32").ok:
        return "it answers otherwise than transformers"
    return ""
