"""What the check says, against what the engine does."""

from pathlib import Path
from typing import Any

import pytest

from harness import agreement, tiny
from harness.agreement import Agreement, Engine, agree, as_markdown
from harness.isolation import Isolation
from harness.outcome import Environment
from harness.probe import probe
from presets.check import check
from presets.loads import layouts
from presets.registry import default_vllm

pytestmark = pytest.mark.engine


def test_every_family_that_was_seen_to_load_is_reported_so(isolation: Isolation) -> None:
    families = [layout.family for layout in layouts(default_vllm())]
    assert len(families) >= 80
    folders = {f: isolation.call(tiny.build, f, [], answer=Path) for f in families}
    wrong = {family: check(folder) for family, folder in folders.items()}
    assert {f: said.reason for f, said in wrong.items() if said.verdict != "loads"} == {}


@pytest.mark.parametrize(
    "key", ["hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads"]
)
def test_a_size_that_the_tensors_have_not_is_not_reported_to_load(
    isolation: Isolation, key: str
) -> None:
    folder = isolation.call(tiny.build, "qwen3", [f"set-key={key}=5"], answer=Path)
    said = check(folder)
    assert said.verdict == "unknown"
    assert f"which {key} does not lead to" in said.reason


@pytest.mark.parametrize(
    ("family", "defect", "verdict"),
    [
        ("gpt2", "set-key=tie_word_embeddings=false", "unknown"),
        ("gpt-neox", "set-key=tie_word_embeddings=true", "unknown"),
        ("gpt-neox", "set-key=hidden_size=96", "unknown"),
        ("bloom", "set-key=hidden_size=96", "unknown"),
        ("qwen3", "drop-tensor=lm_head", "unknown"),
        ("gemma4", "rename==>module.", "fault"),
        ("opt", "set-key=vocab_size=64", "fault"),
        ("modernbert", "set-key=vocab_size=64", "fault"),
        ("qwen3-classifier", "architecture=", "unknown"),
        ("gemma4-unified", "flat-config", "unknown"),
    ],
)
def test_what_was_once_reported_wrongly(
    isolation: Isolation, family: str, defect: str, verdict: str
) -> None:
    said = check(isolation.call(tiny.build, family, [defect], answer=Path))
    assert said.verdict == verdict, said.code


def test_each_defect_is_tried_and_what_the_engine_did_is_kept(
    isolation: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = isolation.call(probe, answer=Environment)
    defects = [
        "",
        "architecture=FSDPModel",
        "lose-shard",
        "drop-files=tokenizer*",
        "drop-processor",
    ]

    def run() -> list[Agreement]:
        engine = Engine(isolation, environment, tmp_path / "kept")
        return list(agree(isolation, engine, ["qwen3"], defects))

    found = run()
    assert [(one.defect, one.verdict, one.loads, one.repaired) for one in found] == [
        ("", "loads", True, None),
        ("architecture=FSDPModel", "unknown", False, None),
        ("lose-shard", "fault", False, None),
        ("drop-files=tokenizer*", "fault", False, None),  # tokens are right, their text is empty
    ]  # it has no processor to drop
    assert all(one.agrees for one in found)

    def never(*_: Any) -> str:
        raise AssertionError("it is run again")

    monkeypatch.setattr(agreement, "problem", never)
    assert run() == found
    assert "| `lose-shard` | 1 | 0 | 0 | 0 | 1 | 0 | 0 |" in as_markdown(found)
