"""``presets check`` beside what people run instead: each a process of its own, on one checkpoint.

Needs the engine (extra ``cpu``). Run it by hand, on a quiet machine: a table with the best wall
time and the largest memory of three runs. The checkpoint is SmolLM2-135M-Instruct, real weights.
"""

import os
import subprocess
import sys
import time

RUNS = 3
WAYS = {
    "presets check": "import sys; from presets.cli import main; sys.argv[1:] = ['check', CKPT]; "
    "main()",
    "transformers AutoConfig": "from transformers import AutoConfig; "
    "AutoConfig.from_pretrained(CKPT)",
    "vLLM EngineArgs.create_model_config": "from vllm.engine.arg_utils import EngineArgs; "
    "EngineArgs(model=CKPT, dtype='float32').create_model_config()",
    "vLLM LLM(...), weights loaded": "from vllm import LLM; "
    "LLM(CKPT, dtype='float32', enforce_eager=True, max_model_len=128, num_gpu_blocks_override=64)",
}


def measure(code: str) -> tuple[float, float]:
    """Seconds and peak resident MiB of a fresh interpreter that runs the code."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_LOGGING_LEVEL": "ERROR",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {code}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    build = "from harness import tiny; print(tiny.build('smollm2-135m', []))"
    command = [sys.executable, "-c", build]  # a small parent: memory is measured from the fork on
    folder = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    print("| | seconds | peak memory, MiB |\n|---|---|---|")
    for what, code in WAYS.items():
        runs = [measure(f"CKPT = {folder!r}\n{code}") for _ in range(RUNS)]
        seconds, memory = (min(r[0] for r in runs), max(r[1] for r in runs))
        print(f"| {what} | {seconds:.2f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
