"""What is recorded of an engine, against the one that is installed."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from harness import cli, record_engine, twins
from harness.isolation import Isolation
from harness.tiny.families import FAMILIES
from presets.registry import DATA, engine_versions

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def recorded(isolation: Isolation) -> dict[str, Any]:
    return isolation.call(record_engine.record, answer=dict[str, Any])


def test_the_committed_record_is_what_the_installed_engine_gives(
    recorded: dict[str, Any],
) -> None:
    version = recorded["vllm"]
    if version not in engine_versions():
        pytest.skip(f"vLLM {version} was not recorded")
    committed = json.loads((DATA / "engines" / f"{version}.json").read_bytes())
    assert {**recorded, "twins": committed["twins"]} == committed


def test_a_class_that_cannot_be_imported_is_recorded_with_the_reason_and_no_path(
    recorded: dict[str, Any],
) -> None:
    errors = [entry["error"] for entry in recorded["architectures"].values() if "error" in entry]
    assert errors
    assert all("Error: " in error and "/" not in error for error in errors)


def test_a_twin_is_found_by_running_it(
    isolation: Isolation, recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {name: FAMILIES[name] for name in ("gemma4", "llava", "qwen3-vl", "gpt2")}
    monkeypatch.setattr(twins, "FAMILIES", some)
    assert dict(twins.find_twins(isolation, recorded["architectures"])) == {
        "Gemma4ForConditionalGeneration": "Gemma4ForCausalLM",
        "LlavaForConditionalGeneration": None,
        "Qwen3VLForConditionalGeneration": None,
    }


def test_the_command_writes_a_whole_file(
    recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(record_engine, "record", lambda: recorded)
    monkeypatch.setattr(cli, "find_twins", lambda *_: [("A", None), ("A", "B"), ("A", None)])
    out = tmp_path / "engine.json"
    result = CliRunner().invoke(cli.main, ["record-engine", str(out)], catch_exceptions=False)
    assert result.exit_code == 0
    assert json.loads(out.read_bytes()) == {**recorded, "twins": {"A": "B"}}
    assert list(tmp_path.iterdir()) == [out]


def test_the_twins_are_kept_where_they_shall_be(
    recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(record_engine, "record", lambda: recorded)
    monkeypatch.setattr(cli, "find_twins", None)
    out = tmp_path / "engine.json"
    out.write_text(json.dumps({**recorded, "twins": {"A": "B"}}))
    command = ["record-engine", str(out), "--keep-twins"]
    assert CliRunner().invoke(cli.main, command, catch_exceptions=False).exit_code == 0
    assert json.loads(out.read_bytes())["twins"] == {"A": "B"}
