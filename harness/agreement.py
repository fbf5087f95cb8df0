"""Does ``presets check`` say what the engine does? Families and defects, each tried both ways."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from harness import tiny
from harness.errors import HarnessError
from harness.isolation import Isolation
from harness.loads import problem, reference_and_task
from presets.check import check

DEFECTS = (
    "",
    "drop-processor",
    "drop-towers",
    "strip-language-prefix",
    "flat-config",
    "null-config=vision_config",
    "architecture=",
    "architecture=FSDPModel",
    "drop-tensor=layers.1.",
    "drop-tensor=norm",
    "drop-files=tokenizer*",
    "set-key=vocab_size=64",
)
"""What is done to each family that it fits; "" is the healthy checkpoint."""


class Agreement(Struct, frozen=True):
    """One checkpoint: what the check says, and what the engine does."""

    family: str
    defect: str
    verdict: str
    code: str
    loads: bool
    """The engine loads it without kwargs and, if it generates text, agrees with transformers."""
    repaired: bool | None
    """With the kwargs of a preset's verdict it does; None for another verdict."""
    error: str

    @property
    def agrees(self) -> bool:
        """No false alarm, no false "loads", no preset that does not help; unknown is no claim."""
        if self.verdict == "loads":
            return self.loads
        if self.verdict == "preset":
            return not self.loads and bool(self.repaired)
        return self.verdict == "unknown" or not self.loads


def agree(
    isolation: Isolation, families: Iterable[str], defects: Iterable[str] = DEFECTS
) -> Iterator[Agreement]:
    """Try every family with each defect that fits it."""
    tried = list(defects)
    for family in families:
        try:
            healthy = isolation.call(tiny.build, family, [], answer=Path)
            wanted, task = reference_and_task(isolation, healthy)
        except HarnessError:
            continue  # not with the installed transformers
        for defect in tried:
            try:
                folder = isolation.call(tiny.build, family, [defect] if defect else [], answer=Path)
            except HarnessError:
                continue  # it does not fit this family
            said = check(folder)
            why = problem(isolation, folder, wanted, task, {})
            repaired = None
            if said.verdict == "preset":
                repaired = not problem(isolation, folder, wanted, task, said.engine_kwargs)
            yield Agreement(family, defect, said.verdict, said.code, not why, repaired, why[:300])
