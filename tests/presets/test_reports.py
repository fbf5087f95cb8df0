"""Public reports of checkpoints that fail, and what the check says of each."""

import json
import re
import struct
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import presets
from presets.registry import engine_versions, load_all

REPORTS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("reports.toml").read_text("utf-8")
)["reports"]
CASES = [report for report in REPORTS if "left_out" not in report]
NEWEST = list(engine_versions())[-1]
TABLE = (Path(__file__).parents[2] / "REPORTS.md").read_text("utf-8")
FIELDS = {"vllm", "config", "files", "json", "tensors", "empty", "expect", "newest"}
WORDS = {"id", "url", "beside", "note"}


def write_weights(path: Path, names: list[str], empty: list[str]) -> None:
    """A safetensors file of one-byte tensors, and of tensors without any."""
    header = {
        name: {"dtype": "U8", "shape": [1], "data_offsets": [at, at + 1]}
        for at, name in enumerate(names)
    }
    end = len(names)
    header |= {n: {"dtype": "U8", "shape": [0], "data_offsets": [end, end]} for n in empty}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


def write_checkpoint(folder: Path, report: dict[str, Any]) -> Path:
    """The folder that a report describes."""
    for name in report.get("files", []):
        (folder / name).write_text("{}")
    contents = dict(report.get("json", {}))
    if "config" in report:
        contents["config.json"] = report["config"]
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content))
    tensors = report.get("tensors", [])
    shards = tensors if isinstance(tensors, dict) else {"model.safetensors": tensors}
    for name, names in shards.items():
        if names or report.get("empty"):
            write_weights(folder / name, names, report.get("empty", []))
    return folder


def expected(report: dict[str, Any], version: str) -> tuple[str, str]:
    """Verdict and code: those of the report's own version, or of the newest."""
    said = report["expect"] if version == report["vllm"] else report.get("newest", report["expect"])
    return said["verdict"], said["code"]


def codes() -> set[str]:
    """Every code that a check can answer with."""
    return {"loads", "unknown"} | {
        f"{file.name}/{condition.code}" if condition.code else file.name
        for file in load_all()
        for condition in file.when
    }


@pytest.mark.parametrize("report", CASES, ids=[report["id"] for report in CASES])
def test_a_report_gets_its_verdict(tmp_path: Path, report: dict[str, Any]) -> None:
    folder = write_checkpoint(tmp_path, report)
    for version in {report["vllm"], NEWEST}:
        found = presets.check(folder, version)
        assert (found.verdict, found.code) == expected(report, version), f"vLLM {version}"


@pytest.mark.parametrize("report", CASES, ids=[report["id"] for report in CASES])
def test_a_code_exists(report: dict[str, Any]) -> None:
    assert {report["expect"]["code"], report.get("newest", report["expect"])["code"]} <= codes()


def test_every_report_is_there_once() -> None:
    assert [n for n, times in Counter(r["id"] for r in REPORTS).items() if times > 1] == []
    assert [n for n, times in Counter(r["url"] for r in REPORTS).items() if times > 1] == []
    assert [report["id"] for report in REPORTS] == sorted(report["id"] for report in REPORTS)
    assert len(REPORTS) == 173


@pytest.mark.parametrize("report", REPORTS, ids=[report["id"] for report in REPORTS])
def test_a_report_is_a_case_or_left_out_for_a_reason(report: dict[str, Any]) -> None:
    assert report["url"].startswith("https://")
    if "left_out" in report:
        assert report.keys() == {"id", "url", "left_out"}
        assert re.fullmatch(r"[a-z ]+: .+", report["left_out"])
    else:
        assert report.keys() <= FIELDS | WORDS
        assert {"vllm", "expect"} <= report.keys()
        assert report.get("newest") != report["expect"]
        if row(report) in UNKNOWN:
            assert re.fullmatch(r"[a-z ]+: .+", report["note"])


UNKNOWN = {"newer engine", "files in order", "not in the files", "not proven"}


def row(report: dict[str, Any]) -> str:
    """The row of REPORTS.md that a report counts in."""
    if "left_out" in report:
        return str(report["left_out"].partition(":")[0])
    then, now = expected(report, report["vllm"])[0], expected(report, NEWEST)[0]
    if then == now == "unknown":
        kind = str(report["note"].partition(":")[0])
        assert kind in UNKNOWN, f"{report['id']}: an unknown says why nobody could know"
        return kind
    if "beside" in report:
        return "right, but beside the report"
    return then if then != "unknown" else f"{now}, with the newest version only"


def test_the_table_counts_what_is_there() -> None:
    stated = {
        name: int(number)
        for name, number in re.findall(r"^\| ([^|]+) \| (\d+) \|", TABLE, re.MULTILINE)
    }
    assert stated == Counter(row(report) for report in REPORTS) | Counter(all=len(REPORTS))
