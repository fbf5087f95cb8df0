"""Programs without a knob, in fresh processes: the plugin is found by vLLM itself."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from harness import tiny
from harness.isolation import Isolation

pytestmark = pytest.mark.engine

PROGRAM = """
import sys
from vllm import LLM, SamplingParams

if __name__ == "__main__":
    llm = LLM(sys.argv[1], enforce_eager=True, max_model_len=128, num_gpu_blocks_override=64)
    greedy = SamplingParams(temperature=0, max_tokens=4)
    output = llm.generate({"prompt_token_ids": [5, 6, 7]}, greedy)[0].outputs[0]
    print("architecture:", llm.llm_engine.model_config.architecture, len(output.token_ids))
"""
"""A user's own, which knows nothing of presets."""


@pytest.fixture(scope="module")
def broken(isolation: Isolation) -> Path:
    """Fails without the preset on every engine since 0.20, as users see it."""
    return isolation.call(tiny.build, "gemma4", ["drop-towers", "drop-processor"], answer=Path)


@pytest.fixture(scope="module")
def healthy(isolation: Isolation) -> Path:
    return isolation.call(tiny.build, "qwen3", [], answer=Path)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """That of a user; and what the CPU wheel's command line wants, a distribution named vllm."""
    import vllm

    folder = tmp_path_factory.mktemp("site")
    info = folder / f"vllm-{vllm.__version__.partition('+')[0]}+cpu.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: vllm\nVersion: {vllm.__version__.partition('+')[0]}+cpu\n"
    )
    ours = {k: v for k, v in os.environ.items() if not k.startswith("VLLM_")}
    return {
        **ours,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), ours.get("PYTHONPATH")])),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "HF_HUB_OFFLINE": "1",
    }


def run(model: Path, environment: dict[str, str], tmp_path: Path, **more: str) -> tuple[int, str]:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py", str(model)],
        check=False,
        cwd=tmp_path,
        env={**environment, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout


def test_vllm_finds_it() -> None:
    names = [e.value for e in entry_points(group="vllm.general_plugins") if e.name == "presets"]
    assert names == ["vllm_presets_plugin:register"]


def test_auto_repairs_the_broken_checkpoint_with_the_engine_in_a_process_of_its_own(
    broken: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    code, said = run(broken, environment, tmp_path, VLLM_PRESET="auto")
    assert code == 0, said
    assert "architecture: Gemma4ForCausalLM 4" in said
    lines = [line for line in said.splitlines() if "presets: " in line]
    assert len(lines) == 1, said  # of one process alone, once
    assert "applied gemma4-text (nested config, but no vision weights were saved)" in lines[0]


@pytest.mark.parametrize(
    "more",
    [{}, {"VLLM_PRESET": "auto", "VLLM_PLUGINS": "other"}],
    ids=["no-variable", "not-among-the-plugins"],
)
def test_without_it_the_broken_checkpoint_fails(
    broken: Path, environment: dict[str, str], tmp_path: Path, more: dict[str, str]
) -> None:
    code, said = run(broken, environment, tmp_path, **more)
    assert code != 0
    assert "preprocessor_config.json" in said
    assert "presets: " not in said


def test_auto_leaves_a_healthy_checkpoint_alone(
    healthy: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    here = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    code, said = run(healthy, environment, tmp_path, VLLM_PRESET="auto", **here)
    assert code == 0, said
    assert "architecture: Qwen3ForCausalLM 4" in said
    assert "nothing applied" in said


def test_vllm_serve_answers_over_http(
    broken: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(broken)]
    command += ["--enforce-eager", "--max-model-len=128", "--num-gpu-blocks-override=64"]
    command += ["--host=127.0.0.1", f"--port={port}", "--served-model-name=m"]
    log = tmp_path / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command,
            env={**environment, "VLLM_PRESET": "gemma4-text"},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        body = json.dumps({"model": "m", "prompt": [5, 6, 7], "max_tokens": 4}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"}
        )
        until = time.monotonic() + 300
        answer = None
        while answer is None:
            assert server.poll() is None, log.read_text()[-4000:]
            assert time.monotonic() < until, log.read_text()[-4000:]
            try:
                answer = json.load(urllib.request.urlopen(request, timeout=60))
            except (urllib.error.URLError, ConnectionError):
                time.sleep(1)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert answer["usage"]["completion_tokens"] == 4
    assert "applied gemma4-text (VLLM_PRESET=gemma4-text)" in log.read_text()
