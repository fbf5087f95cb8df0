"""Records on disk, and the keys that decide whether a cell has to run again."""

import msgspec
import pytest

import presets
from harness import records
from harness.cells import Cell, cells
from harness.errors import HarnessError
from harness.outcome import Environment
from presets.ranges import base_version, parse_range
from presets.registry import DATA, resolve

ENVIRONMENT = Environment("0.32.0", "2.13.0", "5.19.0", "0.28.0", "3.11.7", "cpu")


@pytest.fixture
def cell():
    preset = presets.get("gemma4-text", vllm="0.32.0")
    return Cell(preset, preset.claims[0])


def test_round_trip(tmp_path, cell):
    path = tmp_path / "deep" / "records.jsonl"
    written = [records.record(cell, ENVIRONMENT, v, "", 1.0) for v in ("needed", "blocked")]
    for entry in written:
        records.append(path, entry)
    assert list(records.read(path)) == written
    assert written[0].label == cell.label == "gemma4 + flat-config + drop-towers"
    assert written[0].held
    assert not written[1].held


def test_a_torn_last_line_is_left_out_and_a_broken_one_is_an_error(tmp_path, cell):
    path = tmp_path / "records.jsonl"
    records.append(path, records.record(cell, ENVIRONMENT, "needed", "", 1.0))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert len(list(records.read(path))) == 1
    path.write_bytes(whole[:40] + b"\n" + whole)
    with pytest.raises(HarnessError, match=r"records\.jsonl:1: not a record"):
        list(records.read(path))


def test_the_key_depends_on_everything_that_the_result_does(cell, monkeypatch):
    other = msgspec.structs.replace
    file = resolve("gemma4-text")
    block = other(file.kwargs[0], engine={"hf_overrides": {"architectures": ["X"]}})
    changed = [other(file, kwargs=[block]), other(file, when=file.when[1:])]
    keys = {
        cell.key(ENVIRONMENT),
        cell.key(other(ENVIRONMENT, vllm="0.24.0")),
        cell.key(other(ENVIRONMENT, torch="2.11.0")),
        Cell(cell.preset, cell.preset.claims[1]).key(ENVIRONMENT),
        Cell(cell.preset, other(cell.claim, engine={"seed": 1})).key(ENVIRONMENT),
        *(Cell(presets.Preset(f, "0.32.0"), cell.claim).key(ENVIRONMENT) for f in changed),
    }
    monkeypatch.setattr("harness.cells.builder_digest", lambda: "other builders")
    keys.add(cell.key(ENVIRONMENT))
    assert len(keys) == 8


def test_a_torn_line_is_cut_off_before_the_next_one(tmp_path, cell):
    path = tmp_path / "records.jsonl"
    entry = records.record(cell, ENVIRONMENT, "needed", "", 1.0)
    records.append(path, entry)
    with path.open("ab") as file:
        file.write(path.read_bytes()[:40])
    records.append(path, entry)
    assert list(records.read(path)) == [entry, entry]


def test_cells_are_those_of_the_version_and_the_device():
    preset = presets.get("gemma4-text", vllm="0.24.0")
    here = cells([preset], "0.24.0", "cpu", hub=False)
    assert {c.claim.checkpoint for c in here} == {"gemma4", "gemma4-unified"}
    assert all(base_version("0.24.0") in parse_range(c.claim.vllm) for c in here)
    elsewhere = [c for c in preset.claims if base_version("0.24.0") not in parse_range(c.vllm)]
    assert len(here) + len(elsewhere) == sum(not c.on_hub for c in preset.claims)
    assert elsewhere
    newest = presets.get("gemma4-text", vllm="0.32.0")
    on_gpu = cells([newest], "0.32.0", "cuda", hub=False)
    assert not any(c.claim.device == "cpu" for c in on_gpu)
    assert any(c.claim.device == "cpu" for c in cells([newest], "0.32.0", hub=False))
    assert all(c.claim.on_hub for c in cells([newest], "0.32.0", hub=True))


@pytest.mark.parametrize("path", sorted((DATA / "records").glob("*.jsonl")), ids=lambda p: p.stem)
def test_shipped_records_are_whole_and_hold(path):
    found = list(records.read(path))
    assert found
    for entry in found:
        assert entry.vllm == path.stem
        assert entry.held or entry.verdict == "unknown"
        assert entry.preset in presets.names()
    keys = [entry.key for entry in found]
    assert len(set(keys)) == len(keys)
