"""TRL's own trainer with the real engine inside, on a checkpoint that fails without the preset."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import tiny
from harness.isolation import Isolation
from harness.training import TOLERANCE, Training, train
from presets.registry import default_vllm, get

pytestmark = pytest.mark.engine
DEADLINE = 300.0

PROGRAM = """
import sys

import datasets
import presets
import transformers
import trl
from harness.training import keep_weights

keep_weights()  # on the CPU alone
args = trl.GRPOConfig(
    output_dir="out",
    use_vllm=True,
    vllm_mode="colocate",
    vllm_gpu_memory_utilization=0.1,
    vllm_max_model_length=128,
    use_cpu=True,
    bf16=False,
    max_steps=1,
    per_device_train_batch_size=2,
    num_generations=2,
    max_completion_length=4,
    save_strategy="no",
    report_to=[],
    ddp_find_unused_parameters=True,
)
with presets.applied("gemma4-text", consumer="trl-colocate"):
    trainer = trl.GRPOTrainer(
        model=sys.argv[1],
        processing_class=transformers.AutoTokenizer.from_pretrained(sys.argv[1]),
        reward_funcs=lambda completions, **_: [float(len(text)) for text in completions],
        args=args,
        train_dataset=datasets.Dataset.from_dict({"prompt": ["a b c"] * 4}),
    )
trainer.train()
print("trained", trainer.vllm_generation.llm.llm_engine.model_config.architecture)
"""


@pytest.fixture(scope="module")
def broken(isolation: Isolation) -> Path:
    return isolation.call(tiny.build, "gemma4", ["drop-towers", "drop-processor"], answer=Path)


def kwargs(**more: Any) -> dict[str, Any]:
    return {**get("gemma4-text", default_vllm()), "dtype": "float32", "enforce_eager": True, **more}


def test_without_the_preset_it_fails_as_users_see_it(isolation: Isolation, broken: Path) -> None:
    found = train(isolation, Training(str(broken), {"dtype": "float32"}), DEADLINE)
    assert found.stage == "construct"
    assert "preprocessor_config.json" in str(found.error)


def test_with_the_preset_it_trains_in_step(isolation: Isolation, broken: Path) -> None:
    found = train(isolation, Training(str(broken), kwargs()), DEADLINE)
    assert found.stage is None, found.error
    assert found.architecture == "Gemma4ForCausalLM"
    assert len(found.differences) == 3
    assert found.before is not None
    assert found.before <= TOLERANCE
    assert found.in_step


def test_a_key_that_is_guarded_puts_them_apart(isolation: Isolation, broken: Path) -> None:
    request = Training(str(broken), kwargs(logprobs_mode="raw_logprobs"), steps=1)
    found = train(isolation, request, DEADLINE)
    assert found.stage is None, found.error
    assert not found.in_step
    assert found.difference is not None
    assert found.difference > 100 * TOLERANCE


def test_applied_is_enough_for_a_trainer_without_a_field(broken: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    here = {k: v for k, v in os.environ.items() if not k.startswith("VLLM_")}
    done = subprocess.run(
        [sys.executable, "program.py", str(broken)],
        check=False,
        cwd=tmp_path,
        env={**here, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "trained Gemma4ForCausalLM" in done.stdout
