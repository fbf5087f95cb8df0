"""Time ``import presets`` and ``presets.get`` against their budgets: run it by hand.

Prints one line a measure and exits 1 if a budget is missed.
"""

import statistics
import subprocess
import sys
import timeit

BUDGETS_MS = {"import": 60.0, "get, cold": 20.0, "get, warm": 1.0, "merge, warm": 1.0}
RUNS = 9
NAME, VLLM = "gemma4-text", "0.32.0"

_COLD = f"""
import time, presets
start = time.perf_counter()
presets.get({NAME!r}, vllm={VLLM!r})
print((time.perf_counter() - start) * 1000)
"""


def process_ms(code: str) -> float:
    """The best of several runs of a fresh interpreter, in milliseconds."""
    command = [sys.executable, "-c", code]
    runs = timeit.repeat(lambda: subprocess.run(command, check=True), number=1, repeat=RUNS)
    return 1000 * min(runs)


def cold_ms() -> float:
    """The first ``get`` of a process, without the import: the best of several processes."""
    command = [sys.executable, "-c", _COLD]
    return min(
        float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)
    )


def warm_ms(statement: str) -> float:
    setup = f"import presets; presets.get({NAME!r}, {VLLM!r})"
    return 1000 * statistics.median(timeit.repeat(statement, setup, number=100, repeat=RUNS)) / 100


def main() -> int:
    measured = {
        "import": process_ms("import presets") - process_ms("pass"),
        "get, cold": cold_ms(),
        "get, warm": warm_ms(f"presets.get({NAME!r}, {VLLM!r})"),
        "merge, warm": warm_ms(f"presets.merge({NAME!r}, {{'seed': 1}}, 'llm', {VLLM!r})"),
    }
    missed = 0
    for what, found in measured.items():
        over = found > BUDGETS_MS[what]
        missed += over
        verdict = "OVER" if over else "ok"
        print(f"{what:<12} {found:8.3f} ms   budget {BUDGETS_MS[what]:5.0f} ms   {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
