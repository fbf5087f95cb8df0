"""Which healthy tiny checkpoints the installed engine loads, and how their files look."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harness import engine, tiny
from harness.errors import HarnessError
from harness.isolation import Isolation
from harness.outcome import Reference, Request
from harness.reference import Wanted, compare, reference
from harness.tiny import smollm2
from harness.tiny.families import FAMILIES
from harness.tiny.tokenizer import PROMPT
from presets.engines import engine as engine_record
from presets.facts import read_facts
from presets.loads import Layout, layout
from presets.registry import default_vllm
from presets.schema import Task


class Tried(NamedTuple):
    """One family: its layout if the engine loads it, else why it is not known to."""

    family: str
    layout: Layout | None
    why: str


def try_families(isolation: Isolation) -> Iterator[Tried]:
    """Every tiny family, as it is saved by the installed transformers, with no engine kwargs."""
    for name in [*FAMILIES, smollm2.NAME]:
        try:
            folder = isolation.call(tiny.build, name, [], answer=Path)
            facts = read_facts(folder)
            why = problem(isolation, folder, *reference_and_task(isolation, folder), {})
        except HarnessError as error:
            why = str(error).splitlines()[0]
        yield Tried(name, None if why else layout(facts, name), why)


def reference_and_task(isolation: Isolation, healthy: Path) -> tuple[Reference, Task]:
    """What to ask the engine of a healthy checkpoint, and what transformers answers; for a pooling
    model only that there is an answer is asked.
    """
    (declared, *_) = read_facts(healthy).architectures
    known = engine_record(default_vllm()).architectures.get(declared)
    if known and "is_text_generation_model" in known.flags:
        wanted = isolation.call(
            reference, str(healthy), declared, Wanted(), "float32", "cpu", answer=Reference
        )
        return wanted, "generate"
    task: Task = "classify" if declared.endswith("Classification") else "embed"
    return Reference([], list(PROMPT)), task


def problem(
    isolation: Isolation, folder: Path, wanted: Reference, task: Task, kwargs: dict[str, Any]
) -> str:
    """Why the engine does not load a checkpoint and answer as ``wanted``, where something is; empty
    if it does.
    """
    outcome = engine.run(isolation, Request(str(folder), wanted.prompt, kwargs, task), 600)
    if not outcome.ok:
        return f"{outcome.stage}: {(outcome.error or '').strip().splitlines()[0]}"
    asked = wanted.steps or wanted.vector
    if asked and not compare(outcome, wanted, "float32").ok:
        return "it answers otherwise than the healthy one"
    if wanted.text and outcome.text != wanted.text:
        return "the text of its answer is not that of the healthy one"
    return ""
