"""``presets repair``: a copy of a checkpoint, repaired, in a new folder."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from presets.repair import Repaired, Say, repair


@click.command("repair")
@click.argument("checkpoint", metavar="CKPT", type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--base",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The model that it was trained from.",
)
@click.option("--vllm", metavar="V", help="A vLLM version. Default: the installed one.")
@click.option(
    "--format", "form", type=click.Choice(["human", "json"]), default="human", show_default=True
)
def command(checkpoint: Path, out: Path, base: Path | None, vllm: str | None, form: str) -> None:
    """Write a repaired copy of a checkpoint to a new folder, without loading a weight.

    CKPT is a local folder and is only read. Tensors are renamed, keys of JSON files set, missing
    files copied from the base model. Exit code 0: no fault or preset is left; 1: some are; 2:
    nothing could be repaired, nothing was written.
    """
    with _progress() as say:
        done = repair(checkpoint, out, base, vllm, say)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(done), indent=2).decode())
    else:
        click.echo("\n".join(_said(done)))
    sys.exit(1 if done.check.preset else 0)


def _said(done: Repaired) -> list[str]:
    now = done.check
    return [
        f"repaired {', '.join(done.codes)}: {done.out}",
        *(f"  {change}" for change in done.changes),
        f"now {now.verdict}{f' {now.code}' if now.preset else ''}: {now.reason}",
    ]


@contextmanager
def _progress() -> Iterator[Say]:
    """A line for each file of weights; on a terminal one line that changes."""
    if not sys.stderr.isatty():
        yield _line
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda name, size: status.update(f"{name}, {size >> 20} MiB")


def _line(name: str, size: int) -> None:
    if name.endswith(".safetensors"):
        click.echo(f"{name}, {size >> 20} MiB", err=True)
