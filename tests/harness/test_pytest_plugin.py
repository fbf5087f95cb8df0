"""The plugin's options and skips, in pytest runs of their own. The device is made up by a
conftest, so nothing here starts an engine.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from hub_server import Hub

GEMMA = "google/gemma-4-E2B-it"
QWEN = "Qwen/Qwen2.5-VL-3B-Instruct"
JOB = Path(__file__).parents[1] / "gpu" / "test_claims.py"
CONFTEST = """
import pytest
from harness.outcome import Environment

@pytest.fixture(scope="session")
def environment():
    return Environment("0.32.0", "", "", None, "3.11", {device!r}, memory_gib={memory_gib})
"""


class Run(NamedTuple):
    code: int
    output: str


@pytest.fixture
def run(tmp_path):
    """``run(hub, *options)``: the GPU job, or another test file, on a made-up device."""

    def start(
        hub: Hub, *options: str, device: str = "cpu", memory_gib: float = 0, tests: str = ""
    ) -> Run:
        folder = tmp_path / "job"
        folder.mkdir(exist_ok=True)
        (folder / "conftest.py").write_text(CONFTEST.format(device=device, memory_gib=memory_gib))
        (folder / "test_job.py").write_text(tests or JOB.read_text())
        command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", *options]
        result = subprocess.run(
            command,
            cwd=folder,
            env=hub.environ(tmp_path / "home"),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Run(result.returncode, result.stdout + result.stderr)

    return start


@pytest.fixture
def gated(tmp_path):
    """A Hub with one gated repository and no other."""
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    with Hub({GEMMA: folder}, gated={GEMMA}) as hub:
        yield hub


def test_what_the_hub_refuses_is_skipped_and_says_why(run, gated):
    done = run(gated, "-m", "gpu", "--rehearse-gpu", "--preset=gemma4-text")
    assert done.code == 0, done.output
    assert f"{GEMMA} is gated: accept its terms on the Hub and set HF_TOKEN" in done.output
    assert "1 skipped" in done.output

    done = run(gated, "-m", "gpu", "--rehearse-gpu", "--checkpoint", QWEN)
    assert done.code == 0, done.output
    assert f"{QWEN} does not exist, or is private and HF_TOKEN is not set" in done.output
    assert "1 skipped" in done.output


def test_require_gpu_makes_every_skip_a_failure_with_the_same_reason(run, gated):
    done = run(gated, "-m", "gpu", "--rehearse-gpu", "--require-gpu")
    assert done.code == 1, done.output
    assert f"--require-gpu: {GEMMA} is gated" in done.output
    assert f"--require-gpu: {QWEN} does not exist" in done.output
    assert "skipped" not in done.output
    assert "passed" not in done.output


def test_without_a_gpu_nothing_is_downloaded(run, gated):
    done = run(gated, "-m", "gpu")
    assert done.code == 0, done.output
    assert "no CUDA device" in done.output
    assert gated.requests == []


def test_too_little_memory(run, gated):
    done = run(gated, "-m", "gpu", "--preset=gemma4-text", device="cuda", memory_gib=4)
    assert done.code == 0, done.output
    assert "GiB of memory, the GPU has 4" in done.output
    assert gated.requests == []


def test_require_gpu_is_about_tests_marked_gpu_and_about_all_their_skips(run):
    tests = """
import pytest

@pytest.mark.gpu
@pytest.mark.skipif(True, reason="not today")
def test_gpu(): ...

@pytest.mark.skip(reason="as usual")
def test_other(): ...
"""
    with Hub({}) as hub:
        done = run(hub, "--require-gpu", tests=tests)
    assert done.code == 1, done.output
    assert "--require-gpu: not today" in done.output
    assert "as usual" in done.output
    assert "1 skipped, 1 error" in done.output


def test_preset_and_checkpoint_narrow_the_claims(run):
    tests = "def test_claim(preset_cell, prove): ..."
    with Hub({}) as hub:
        for options, there, gone in (
            (["--preset=gemma4-text"], "gemma4-text: gemma4 + ", "multimodal-text-only"),
            (["--checkpoint=qwen2.5-vl"], "multimodal-text-only: qwen2.5-vl", "gemma4"),
        ):
            done = run(hub, "--collect-only", "-q", *options, tests=tests)
            assert done.code == 0, done.output
            assert there in done.output
            assert gone not in done.output


def test_unknown_preset_is_a_usage_error_that_suggests_the_nearest_name(run):
    with Hub({}) as hub:
        done = run(hub, "--collect-only", "--preset=gemma4-txt", tests="def test(preset_cell): ...")
    assert done.code == pytest.ExitCode.USAGE_ERROR, done.output
    assert "gemma4-text" in done.output
