"""What the linter finds beyond the schema."""

from collections.abc import Callable
from pathlib import Path

import pytest

from presets import lint
from presets.lint import shipped

Write = Callable[..., Path]
ENGINE = 'engine.hf_overrides.architectures = ["BertModel"]'


def test_everything_shipped_is_clean() -> None:
    assert shipped()
    assert lint(shipped()) == []


def test_the_sample_is_clean(demo_toml: Write) -> None:
    assert lint([demo_toml()]) == lint([str(demo_toml())]) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            ENGINE,
            f"{ENGINE}\nengine.hf_override = 1",
            "demo.toml: kwargs[0].engine.hf_override: vLLM 0.19.1 has no such argument",
        ),
        (
            ENGINE,
            f"{ENGINE}\nengine.calculate_kv_scales = true",
            "demo.toml: kwargs[0].engine.calculate_kv_scales: vLLM 0.28.0 no longer has it",
        ),
        (
            ENGINE,
            f"{ENGINE}\nengine.model_class_overrides.A = 'm:B'",
            "demo.toml: kwargs[0].engine.model_class_overrides: vLLM 0.19.1 does not have it yet",
        ),
        (
            '["BertModel"]',
            '"Demo"',
            "demo.toml: kwargs[0].engine.hf_overrides.architectures: must be a list of class names",
        ),
        (ENGINE, f"{ENGINE}\nengine.seed = nan", "demo.toml: kwargs[0].engine.seed: nan has no"),
        (
            ENGINE,
            f"{ENGINE}\nengine.hf_overrides.day = 2026-01-01",
            "demo.toml: kwargs[0].engine.hf_overrides.day: ",
        ),
        (
            'checkpoint = "demo"',
            'checkpoint = "demo"\nengine.task = "embed"',
            "demo.toml: claims[0].engine.task: removed in vLLM 0.13.0",
        ),
        (
            'family = "demo"',
            'family = "demo"\naliases = ["gemma4-text"]',
            "demo.toml: 'gemma4-text' is taken, by gemma4-text.toml",
        ),
        (
            'family = "demo"',
            'family = "demo"\naliases = ["demo"]',
            "demo.toml: 'demo' is taken, by itself",
        ),
        ('family = "demo"', "", "demo.toml: family: missing"),
    ],
)
def test_a_mistake_is_found(demo_toml: Write, old: str, new: str, problem: str) -> None:
    found = lint([demo_toml((old, new))])
    assert any(p.startswith(problem) for p in found), found


def test_two_new_files_may_not_share_a_name(demo_toml: Write) -> None:
    alias = ('family = "demo"', 'family = "demo"\naliases = ["same"]')
    first = demo_toml(alias)
    second = demo_toml(alias, ('name = "demo"', 'name = "other"'), name="other.toml")
    assert lint([first, second]) == [
        "demo.toml: 'same' is taken, by other.toml",
        "other.toml: 'same' is taken, by demo.toml",
    ]


def test_a_copy_of_a_shipped_file_stands_in_for_it(tmp_path: Path) -> None:
    copies = [tmp_path / p.parent.name / p.name for p in shipped()]
    for path, original in zip(copies, shipped(), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(original.read_bytes())
    assert lint(copies) == []


CONSUMER = """\
name = "demo"
summary = "A trainer."
versions = "1.0"
form = "python"
how = "Pass them."
sources = ["https://github.com/vllm-project/vllm/issues/1"]
defaults = { seeed = 1 }

[[guards]]
key = "tensor_paralel_size.x"
reason = "in step"
failure = "silent"
instead = "its own field"
evidence = ["https://github.com/vllm-project/vllm/issues/1"]
"""


@pytest.mark.parametrize("folder", ["consumers", "anywhere"])
def test_a_consumer_file_is_told_by_folder_or_content(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "demo.toml"
    path.parent.mkdir()
    path.write_text(CONSUMER, encoding="utf-8")
    found = lint([path])
    assert [p.partition(": vLLM")[0] for p in found] == [
        "demo.toml: defaults.seeed",
        "demo.toml: guards[0].key.tensor_paralel_size",
    ]
    assert "did you mean seed" in found[0]


def test_every_problem_of_every_file_is_reported(demo_toml: Write, tmp_path: Path) -> None:
    one = demo_toml((ENGINE, 'engine.hf_overrides.architectures = "Demo"\nengine.tsk = 1'))
    two = tmp_path / "presets" / "broken.toml"
    two.parent.mkdir()
    two.write_text("name = ", encoding="utf-8")
    found = lint([one, two])
    assert [p.partition(":")[0] for p in found] == ["demo.toml", "demo.toml", "broken.toml"]
