"""Time ``import presets``, ``presets.get`` and ``presets check`` against their budgets: run it by
hand, on a quiet machine.

Prints one line a measure and exits 1 if a budget is missed.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

BUDGETS_MS = {
    "import": 60.0,
    "get, cold": 20.0,
    "get, warm": 1.0,
    "merge, warm": 1.0,
    "check, 300 tensors": 200.0,
    "check, 150,000 tensors": 1500.0,
}
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


def check_ms(tensors: int) -> float:
    """The whole process of a check: the best of several, on a checkpoint of that many tensors."""
    code = "import sys; from presets.cli import main; sys.argv[1:] = ['check', {!r}]; main()"
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(Path(folder), tensors)
        command = [sys.executable, "-c", code.format(folder)]
        run = lambda: subprocess.run(command, check=False, capture_output=True)  # noqa: E731
        assert run().stdout, "no verdict"
        return 1000 * min(timeit.repeat(run, number=1, repeat=RUNS))


def write_checkpoint(folder: Path, tensors: int) -> None:
    """A mixture of experts by its names, with an index; the weights are a hole in the file."""
    names = [
        f"model.layers.{i // 768}.mlp.experts.{i // 3 % 256}.{part}_proj.weight"
        for i, part in zip(range(tensors), ["gate", "up", "down"] * tensors, strict=False)
    ]
    header = {
        name: {"dtype": "BF16", "shape": [2, 3], "data_offsets": [12 * i, 12 * i + 12]}
        for i, name in enumerate(names)
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 12 * tensors)
    config = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe"}
    index = {"weight_map": dict.fromkeys(names, "model.safetensors")}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "tokenizer.json").write_text("{}")


def main() -> int:
    measured = {
        "import": process_ms("import presets") - process_ms("pass"),
        "get, cold": cold_ms(),
        "get, warm": warm_ms(f"presets.get({NAME!r}, {VLLM!r})"),
        "merge, warm": warm_ms(f"presets.merge({NAME!r}, {{'seed': 1}}, 'llm', {VLLM!r})"),
        "check, 300 tensors": check_ms(300),
        "check, 150,000 tensors": check_ms(150_000),
    }
    missed = 0
    for what, found in measured.items():
        over = found > BUDGETS_MS[what]
        missed += over
        verdict = "OVER" if over else "ok"
        print(f"{what:<22} {found:8.3f} ms   budget {BUDGETS_MS[what]:5.0f} ms   {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
