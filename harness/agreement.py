"""Does ``presets check`` say what the engine does? Families and defects, each tried both ways."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from harness import tiny
from harness.cells import PROTOCOL
from harness.engine import run
from harness.errors import HarnessError, UnknownDefectError
from harness.isolation import Isolation
from harness.loads import problem, reference_and_task
from harness.outcome import Environment, Reference, Request
from presets.check import check
from presets.schema import Task

DEFECTS = (
    "",
    "drop-processor",
    "drop-towers",
    "strip-language-prefix",
    "flat-config",
    "null-config=vision_config",
    "architecture=",
    "architecture=FSDPModel",
    'set-key=model_type="nosuch"',
    "set-key=num_hidden_layers=3",
    "set-key=hidden_size=96",
    "set-key=vocab_size=64",
    "set-key=tie_word_embeddings=true",
    "set-key=tie_word_embeddings=false",
    "drop-tensor=layers.1.",
    "drop-tensor=norm",
    "drop-tensor=lm_head",
    "empty-tensor=layers.1.",
    "rename==>module.",
    "rename==>base_model.model.",
    "truncate=model.safetensors",
    "lose-shard",
    "adapter-only",
    "drop-files=*.safetensors",
    "drop-files=tokenizer*",
    "write-file=tokenizer.json={",
    "write-file=tokenizer_config.json=[]",
)
"""What is done to each family that it fits; "" is the healthy checkpoint."""


class Agreement(Struct, frozen=True):
    """One checkpoint: what the check says, and what the engine does."""

    family: str
    defect: str
    verdict: str
    code: str
    loads: bool
    """The engine loads it without kwargs and answers as the healthy checkpoint does."""
    repaired: bool | None
    """With the kwargs of a preset's verdict it does; None for another verdict."""
    error: str

    @property
    def agrees(self) -> bool:
        """No false alarm, no false "loads", no preset that does not help. Unknown is no claim, but
        for a healthy checkpoint it is a false alarm.
        """
        if not self.defect:
            return self.loads and self.verdict == "loads"
        if self.verdict == "loads":
            return self.loads
        if self.verdict == "preset":
            return not self.loads and bool(self.repaired)
        return self.verdict == "unknown" or not self.loads


class _Seen(Struct, frozen=True):
    """One line of the file: what the engine did with a checkpoint."""

    key: str
    why: str


class Engine:
    """The engine's answers, kept in a file of JSON lines: what it has is not run again."""

    def __init__(self, isolation: Isolation, environment: Environment, path: Path | None) -> None:
        self._isolation = isolation
        self._environment = environment
        self._path = path
        lines = path.read_bytes().splitlines() if path and path.exists() else []
        entries = (msgspec.json.decode(line, type=_Seen) for line in lines)
        self._known = {entry.key: entry.why for entry in entries}

    def problem(self, folder: Path, wanted: Reference, task: Task, kwargs: dict[str, Any]) -> str:
        """As ``harness.loads.problem``."""
        parts = (PROTOCOL, tiny.fingerprint(folder), self._environment, wanted, task, kwargs)
        key = hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]
        if key not in self._known:
            why = problem(self._isolation, folder, wanted, task, kwargs)
            self._known[key] = why
            if self._path:
                with self._path.open("ab") as file:
                    file.write(msgspec.json.encode(_Seen(key, why)) + b"\n")
        return self._known[key]


def agree(
    isolation: Isolation,
    engine: Engine,
    families: Iterable[str],
    defects: Iterable[str] = DEFECTS,
) -> Iterator[Agreement]:
    """Try each defect with every family that it fits. HarnessError if a family cannot be built."""
    healthy: dict[str, tuple[Reference, Task]] = {}
    texts: dict[str, str] = {}
    for family in families:
        folder = isolation.call(tiny.build, family, [], answer=Path)
        wanted, task = reference_and_task(isolation, folder)
        answer = run(isolation, Request(str(folder), wanted.prompt, {}, task), 600)
        if task != "generate":  # a pooling model has to answer as the healthy one does
            vector = [value for value in answer.vector if value is not None]
            wanted = Reference([], wanted.prompt, vector=vector)
        healthy[family] = wanted, task
        texts[family] = answer.text
    for defect in defects:
        for family, (wanted, task) in healthy.items():
            try:
                folder = isolation.call(tiny.build, family, [defect] if defect else [], answer=Path)
            except HarnessError as error:
                if UnknownDefectError.__name__ not in str(error):
                    raise
                continue  # it does not fit this family
            # Tokens go in and come out right without a tokenizer.
            text = texts[family] if "tokenizer" in defect else ""
            right = structs.replace(wanted, text=text)
            said = check(folder)
            why = engine.problem(folder, right, task, {})
            repaired = None
            if said.verdict == "preset":
                repaired = not engine.problem(folder, right, task, said.engine_kwargs)
            yield Agreement(family, defect, said.verdict, said.code, not why, repaired, why[:300])


def as_markdown(found: Iterable[Agreement]) -> str:
    """A row a defect: what the check said of how many checkpoints, and what the engine did."""
    rows: dict[str, list[Agreement]] = defaultdict(list)
    for one in found:
        rows[one.defect].append(one)
    lines = [
        "| defect | checkpoints | the engine loads | loads | preset | fault | unknown | disagree |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for defect, tried in rows.items():
        numbers = [len(tried), sum(one.loads for one in tried)]
        verdicts = ("loads", "preset", "fault", "unknown")
        numbers += [sum(one.verdict == verdict for one in tried) for verdict in verdicts]
        numbers.append(sum(not one.agrees for one in tried))
        name = f"`{defect}`" if defect else "none"
        lines.append(f"| {name} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)
