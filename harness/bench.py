"""How much faster a run in the preloaded engine is than a fresh ``LLM(...)`` process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from harness import engine, tiny
from harness.errors import WorkerError
from harness.isolation import Isolation
from harness.outcome import Request
from harness.tiny.tokenizer import PROMPT

REPEATS = 3
_FRESH = """
import json, sys
from vllm import LLM, SamplingParams
if __name__ == "__main__":
    llm = LLM(sys.argv[1], **json.loads(sys.argv[2]))
    params = SamplingParams(temperature=0.0, max_tokens=8, logprobs=5)
    print(llm.generate([{"prompt_token_ids": json.loads(sys.argv[3])}], params))
"""
"""What a user would run: the same engine kwargs, no preloading, vLLM's own defaults otherwise."""


def compare(checkpoint: str, console: Console) -> None:
    """Print both times for one healthy checkpoint, best of three each, and their ratio.

    Both ways are warmed up once first, so that neither pays for vLLM's one-time inspection of
    the model class. WorkerError if one of them fails.
    """
    isolation = Isolation()
    start = time.perf_counter()
    isolation.call(_nothing, answer=bool)
    console.print(f"preload, once:          {time.perf_counter() - start:.1f} s")
    folder = str(isolation.call(tiny.build, checkpoint, [], answer=Path))
    request = Request(folder, list(PROMPT))
    ours = _best(lambda: _in_engine(isolation, request))
    fresh = _best(lambda: _fresh(folder))
    console.print(f"fresh LLM(...) process: {fresh:.1f} s")
    console.print(f"preloaded engine:       {ours:.1f} s")
    console.print(f"ratio:                  {fresh / ours:.1f}")


def _best(run: Callable[[], None]) -> float:
    times = []
    for _ in range(1 + REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _in_engine(isolation: Isolation, request: Request) -> None:
    outcome = engine.run(isolation, request, deadline=600)
    if not outcome.ok:
        raise WorkerError(f"the preloaded engine failed: {outcome.error}")


def _fresh(folder: str) -> None:
    arguments = [folder, json.dumps(engine.KWARGS), json.dumps(PROMPT)]
    command = [sys.executable, "-c", _FRESH, *arguments]
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1", **os.environ}  # GiB, as in the children
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, env=environment
    )
    if result.returncode:
        raise WorkerError(f"the fresh process failed: {result.stderr[-1000:]}")


def _nothing() -> bool:
    return True
