"""The table in PRESETS.md."""

from pathlib import Path
from typing import get_args

from click.testing import CliRunner

import presets
from presets.cli import main
from presets.schema import Condition, Mark

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


def test_the_facts_in_the_docs_are_the_generated_ones() -> None:
    said = CliRunner().invoke(main, ["explain", "--facts"]).stdout
    assert (ROOT / "FACTS.md").read_text(encoding="utf-8") == said, "run: presets explain --facts"
    named = {line.split("`")[1] for line in said.splitlines() if line.startswith("| `")}
    assert named == {*Condition.__struct_fields__, *get_args(Mark)} - {"why", "code"}
