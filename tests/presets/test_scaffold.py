"""The file a new preset starts from."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from presets import DataError, lint, scaffold
from presets.cli import main


def test_lint_says_all_that_is_left_to_fill_in(tmp_path: Path) -> None:
    found = "\n".join(lint([scaffold.new("my-preset", tmp_path)]))
    for field in ("family", "summary", "sources", "when[0].why", "claims[0].checkpoint"):
        assert f"my-preset.toml: {field}: " in found
    assert "claims[0].control" in found
    assert "claims[0].sources" in found


def test_filled_in_it_is_a_valid_preset(tmp_path: Path) -> None:
    path = scaffold.new("my-preset", tmp_path)
    text = path.read_text(encoding="utf-8")
    link = '["https://github.com/vllm-project/vllm/issues/1"]'
    for old, new in (
        ('family = ""', 'family = "llama"'),
        ('summary = ""', 'summary = "Something."'),
        ("sources = []", f"sources = {link}"),
        ('why = ""', 'why = "it is so"'),
        ("architectures = []   ", 'architectures = ["FSDPLlamaForCausalLM"]'),
        ("hf_overrides.architectures = []", 'hf_overrides.architectures = ["LlamaForCausalLM"]'),
        ('checkpoint = "" ', 'checkpoint = "llama"'),
        ('error = ""', 'error = "are not supported"'),
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    assert lint([path]) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [("My Preset", "not a name"), ("gemma4-text", "taken")],
)
def test_a_bad_or_taken_name_is_refused_and_nothing_left(
    tmp_path: Path, name: str, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        scaffold.new(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    path = scaffold.new("my-preset", tmp_path)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(DataError, match="File exists"):
        scaffold.new("my-preset", tmp_path)
    assert path.read_text(encoding="utf-8") == "mine"


def test_the_command_prints_the_path_and_what_to_do_next(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["new", "my-preset", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert result.stdout.strip() == str(tmp_path / "my-preset.toml")
    assert "presets lint" in result.stderr
    assert "harness verify" in result.stderr
