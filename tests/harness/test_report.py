"""What a run is shown as."""

import io
import json

import msgspec
import pytest
from rich.console import Console

import presets
from harness import records, report
from harness.cells import Cell
from harness.outcome import Environment, Outcome
from harness.reference import Parity

ENVIRONMENT = Environment("0.32.0", "2.13.0", "5.19.0", "0.28.0", "3.11.7", "cpu")


@pytest.fixture
def needed():
    preset = presets.get("gemma4-text", vllm="0.32.0")
    failed = Outcome(False, "config", "ValidationError: 1 validation error for X\n  Value [no]")
    right = Outcome(True, architecture="Gemma4ForCausalLM")
    return records.record(
        Cell(preset, preset.claims[0]),
        ENVIRONMENT,
        "needed",
        "",
        2.0,
        records.run_record(failed, None),
        records.run_record(right, Parity(True, True, 1e-5, 1e-3)),
    )


def shown(entries):
    out = io.StringIO()
    report.print_table(entries, Console(file=out, width=140))
    return out.getvalue()


def test_json_has_what_programs_read(needed):
    found = json.loads(report.as_json([needed]))
    assert found["totals"] == {"needed": 1}
    assert found["ok"] is True
    (cell,) = found["cells"]
    keys = {"preset", "family", "defect", "vllm", "device", "verdict", "seconds"}
    assert keys <= cell.keys()
    assert {"ok", "stage", "error", "tokens"} <= cell["control"].keys()
    assert {"ok", "stage", "error", "tokens", "parity"} <= cell["treatment"].keys()


def test_table_and_conclusion(needed):
    text = shown([needed])
    assert "fails at config: Value [no]" in text  # not rich markup, not pydantic's count
    assert "every claim that ran held: 1 needed" in text
    broken = msgspec.structs.replace(needed, verdict="broken", reason="why [it] broke")
    text = shown([needed, broken])
    assert "why [it] broke" in text
    assert "1 of 2 claims did NOT hold: 1 needed, 1 broken" in text


def test_what_was_not_run_is_neither_held_nor_missed(needed):
    unknown = msgspec.structs.replace(needed, verdict="unknown", reason="needs a GPU")
    assert report.all_held([needed, unknown])
    assert not report.all_held([unknown])
    text = shown([needed, unknown])
    assert "every claim that ran held: 1 needed, 1 unknown" in text
    assert "needs a GPU" in text
    assert "claimed" not in text


def test_nothing_ran_is_not_a_success():
    assert not report.all_held([])
    assert "no cell ran" in report.conclusion([])
