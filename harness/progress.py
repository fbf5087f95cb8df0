"""Progress of a long run: a live bar on a terminal, plain lines elsewhere."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from harness.cells import Cell
from harness.records import Record


class Progress:
    """Says what runs, on stderr; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)
        self._done = 0
        self._total = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """One line about something that is not a cell."""
        self._bar.update(self._task, description=text)
        self._line(text)

    def total(self, cells: int) -> None:
        self._total = cells
        self._bar.update(self._task, total=cells)

    def starting(self, cell: Cell) -> None:
        self._bar.update(self._task, description=f"{cell.preset.name}: {cell.label}")

    def finished(self, record: Record) -> None:
        self._done += 1
        self._bar.advance(self._task)
        held = (
            "" if record.held or record.verdict == "unknown" else f" (claimed: {record.expected})"
        )
        self._line(
            f"[{self._done}/{self._total}] {record.preset}: {record.label}: "
            f"{record.verdict}{held} in {record.seconds:.1f} s"
        )

    def _line(self, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
