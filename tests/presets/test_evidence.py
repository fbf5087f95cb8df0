"""What the committed records say of a preset."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import presets
from presets import evidence as module
from presets.evidence import Evidence, evidence

PRESET = presets.get("llama-causal-lm", "0.32.0")
DIGESTS = [PRESET.digest(claim) for claim in PRESET.claims if not claim.on_hub]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "records").mkdir()
    monkeypatch.setattr(module, "DATA", tmp_path)
    module._cells.cache_clear()
    yield tmp_path / "records"
    module._cells.cache_clear()


def write(shelf: Path, version: str, *verdicts: str, expected: str = "needed") -> None:
    """Records of the preset's claims, in order, as far as there are verdicts."""
    lines = [
        json.dumps(
            {
                "preset": PRESET.name,
                "preset_hash": digest,
                "verdict": verdict,
                "expected": expected,
                "device": "cpu",
                "date": "2026-12-01T00:00:00+00:00",
            }
        )
        for digest, verdict in zip(DIGESTS, verdicts, strict=False)
    ]
    (shelf / f"{version}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    module._cells.cache_clear()


def test_every_cell_as_claimed(shelf: Path) -> None:
    assert len(DIGESTS) == 3
    write(shelf, "0.32.0", "needed", "needed", "needed")
    assert evidence(PRESET) == Evidence("0.32.0", "needed", {"needed": 3})


def test_one_cell_that_did_not_hold_is_the_verdict(shelf: Path) -> None:
    write(shelf, "0.32.0", "needed", "broken", "needed")
    assert evidence(PRESET).verdict == "broken"
    write(shelf, "0.32.0", "needed", "needed", "unneeded")
    assert evidence(PRESET).verdict == "unneeded"


def test_a_claim_without_a_record_makes_it_unknown(shelf: Path) -> None:
    assert evidence(PRESET) == Evidence("", "unknown", {})
    write(shelf, "0.32.0", "needed", "needed")
    assert evidence(PRESET) == Evidence("0.32.0", "unknown", {"needed": 2})


def test_what_did_not_run_counts_for_nothing(shelf: Path) -> None:
    write(shelf, "0.32.0", "unknown", "unknown", "unknown")
    assert evidence(PRESET).verdict == "unknown"


def test_a_run_of_an_earlier_file_counts_for_nothing(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "DIGESTS", ["0" * 16] * 3)
    write(shelf, "0.32.0", "needed", "needed", "needed")
    assert evidence(PRESET) == Evidence("", "unknown", {})


def test_the_newest_version_decides(shelf: Path) -> None:
    write(shelf, "0.19.1", "broken", "broken", "broken")
    write(shelf, "0.32.0", "needed", "needed", "needed")
    assert evidence(PRESET).vllm == "0.32.0"


def test_every_shipped_preset_is_proven_or_says_why_not() -> None:
    for preset in presets.find(vllm="0.32.0", trust_remote_code=True, faults=True):
        found = evidence(preset)
        assert found.verdict == ("unknown" if preset.unproven else "needed"), preset.name
