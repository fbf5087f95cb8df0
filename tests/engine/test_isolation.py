"""Children that crash, hang, exit or run out of memory are results, and the run goes on."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from harness import engine, tiny
from harness.cells import Cell
from harness.errors import WorkerError
from harness.isolation import Death
from harness.outcome import Request
from harness.tiny.tokenizer import PROMPT

pytestmark = pytest.mark.engine


# What the engine calls in the child, in place of a mapping of overrides.


def segfault(config):
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(config):
    os._exit(3)


def call_sys_exit(config):
    sys.exit(4)


def hang(config):
    time.sleep(3600)


def eat_memory(config):
    hog = [bytearray(2**28) for _ in range(400)]
    return hog and config


def ignore_term_and_hang(config):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open("/proc/self/stat") as stat:  # noqa: PTH123
        print("pid", stat.read().split()[0], file=sys.stderr, flush=True)
    time.sleep(3600)


@pytest.fixture(scope="module")
def checkpoint(isolation):
    return str(isolation.call(tiny.build, "gemma4", [], answer=Path))


@pytest.fixture
def run(isolation, checkpoint):
    def with_overrides(overrides, deadline=120.0):
        request = Request(checkpoint, list(PROMPT), {"hf_overrides": overrides})
        return engine.run(isolation, request, deadline)

    return with_overrides


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (segfault, "killed by SIGSEGV"),
        (leave, "exited with code 3"),
        (call_sys_exit, r"sys.exit(4)"),
    ],
)
def test_a_child_that_ends_early_is_blocked(run, overrides, said):
    outcome = run(overrides)
    assert not outcome.ok
    assert said in outcome.blocked


def test_a_crash_keeps_the_stage_it_happened_in(run):
    assert run(segfault).stage == "config"
    assert run(leave).stage is None  # it left no stack to tell


@pytest.mark.parametrize("overrides", [hang, ignore_term_and_hang])
def test_a_child_that_hangs_is_killed_at_its_deadline(run, overrides):
    start = time.monotonic()
    outcome = run(overrides, deadline=6.0)
    assert "still running after 6 s" in outcome.blocked
    assert time.monotonic() - start < 30
    if overrides is hang:  # the other one leaves no stack: it ignores TERM
        assert outcome.stage == "config"


def test_running_out_of_memory_is_blocked(checkpoint, isolation, monkeypatch):
    monkeypatch.setattr(isolation, "_memory_gib", 6.0)
    request = Request(checkpoint, list(PROMPT), {"hf_overrides": eat_memory})
    outcome = engine.run(isolation, request, 120.0)
    assert outcome.blocked.startswith("out of memory: MemoryError")


def start_a_grandchild():
    import subprocess

    process = subprocess.Popen(["sleep", "3600"])
    return process.pid


def test_no_process_outlives_its_run(isolation):
    pid = isolation.call(start_a_grandchild, answer=int)
    for _ in range(50):
        state = _state(pid)
        if state in (None, "Z"):
            return
        time.sleep(0.1)
    pytest.fail(f"the grandchild {pid} is still there, state {state}")


def _state(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


def raise_an_error():
    raise RuntimeError("the job went wrong")


def test_an_error_in_a_job_reaches_the_caller(isolation):
    with pytest.raises(WorkerError, match="the job went wrong"):
        isolation.call(raise_an_error, answer=str)
    death = isolation.run(leave, None, answer=str, deadline=60.0)
    assert isinstance(death, Death)


def test_the_run_goes_on_after_a_blocked_cell(verifier):
    import presets

    preset = presets.get("gemma4-text", verifier.environment.vllm)
    cell = Cell(preset, preset.claims[0])
    assert verifier.run(cell, deadline=0.05).verdict == "blocked"
    assert verifier.run(cell).verdict == "needed"
