"""The GitHub Action and the pre-commit hook: valid, and what they run works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from presets.cli import main

ROOT = Path(__file__).parents[1]
ACTION = ROOT / "action.yml"
HOOKS = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")


def valid(path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    done = subprocess.run(
        [*command, "vendor.github-actions", str(path)],
        capture_output=True,
        check=False,
        timeout=120,
    )
    return done.returncode == 0


def test_the_action_is_valid():
    assert valid(ACTION)


def test_a_mistake_in_the_action_is_found(tmp_path):
    path = tmp_path / "action.yml"
    path.write_text(ACTION.read_text().replace("shell: bash", "shel: bash"))
    assert not valid(path)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    (tmp_path / "adapter_model.bin").write_text("")
    return tmp_path


@pytest.mark.parametrize(("vllm", "consumer"), [("", ""), ("0.32.0", "vllm-serve")])
def test_the_action_annotates(folder, vllm, consumer):
    """Its own script, with the presets of this environment where it would have installed them."""
    command = folder / "vllm-presets" / "bin" / "presets"
    command.parent.mkdir(parents=True)
    code = "from presets.cli import main; main()"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n')
    command.chmod(0o755)
    script = YAML(typ="safe").load(ACTION)["runs"]["steps"][-1]["run"]
    set_ = {"CKPT": str(folder), "VLLM": vllm, "CONSUMER": consumer, "RUNNER_TEMP": str(folder)}
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT), **set_},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error title=presets lora-adapter-folder")


def test_no_input_is_pasted_into_a_script():
    for step in YAML(typ="safe").load(ACTION)["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_the_hook_has_what_pre_commit_asks_for():
    for hook in HOOKS:
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert hook["language"] == "python"
        assert hook["pass_filenames"] is False  # a folder is checked, not a file


def test_the_hook_runs(folder):
    program, *words = HOOKS[0]["entry"].split()
    assert program == "presets"
    found = CliRunner().invoke(main, [*words, str(folder), "--format", "json"])
    assert found.exit_code == 1
    assert json.loads(found.stdout)["verdict"] == "fault"
