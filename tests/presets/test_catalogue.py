"""The table in PRESETS.md."""

from pathlib import Path

from click.testing import CliRunner

import presets
from presets.cli import main

ROOT = Path(__file__).parents[2]


def table() -> str:
    return CliRunner().invoke(main, ["list", "--format", "markdown"]).stdout


def test_the_table_in_the_docs_is_the_generated_one() -> None:
    command = "presets list --format markdown > PRESETS.md"
    assert (ROOT / "PRESETS.md").read_text(encoding="utf-8") == table(), f"run: {command}"


def test_every_preset_and_fault_has_one_whole_row() -> None:
    rows = [line for line in table().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == presets.names()
    assert {row.replace("\\|", "").count("|") for row in rows} == {8}
