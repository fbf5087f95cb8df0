"""The CI's files: valid by GitHub's schema, and running the commands that the README prints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
TEST = "uv run --extra cpu pytest"
GPU_TEST = "uv run --extra gpu pytest -m gpu --require-gpu"


def check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    return subprocess.run(
        [*command, "vendor.github-workflows", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_there_are_workflows():
    assert {path.name for path in WORKFLOWS} >= {"ci.yml", "gpu.yml"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_is_valid(path):
    done = check(path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("runs-on:", "run-on:"),
        ("contents: read", "contents: readonly"),
        ("steps:", "step:"),
    ],
)
def test_broken_workflow_is_rejected(good, bad, tmp_path):
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert good in text
    broken = tmp_path / "ci.yml"
    broken.write_text(text.replace(good, bad))
    assert check(broken).returncode == 1


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("README.md", TEST),
        ("CONTRIBUTING.md", TEST),
        (".ci/run", TEST),
        (".github/workflows/ci.yml", TEST),
        ("README.md", GPU_TEST),
        (".github/workflows/gpu.yml", GPU_TEST),
    ],
)
def test_one_command_everywhere(file, command):
    assert command in (ROOT / file).read_text()


def test_ci_run_can_be_started():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
