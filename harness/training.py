"""Train a few steps with the engine inside: TRL's own trainer, in a child, beside the real vLLM.

What must stay in step is measured twice: as TRL logs it (the largest difference between the
logprobs that the engine sampled with and those that the trainer computes), and directly, before
the first and after the last weight sync. Runs in a child, as everything that needs torch does.
"""

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from harness.isolation import Death, Isolation
from harness.tiny.tokenizer import PROMPT

TOLERANCE = 1e-3
"""Largest difference of two logprobs that counts as in step, float32 on both sides. Measured with
TRL 1.16.0, vLLM 0.31.0 and 0.32.0 on the CPU: at most 7e-5 in step."""
TEMPERATURE = 0.5
"""Not 1, or logprobs before and after the temperature would be the same."""


class Training(Struct, frozen=True):
    """One run: a checkpoint, and engine kwargs of which the trainer knows nothing."""

    model: str
    """Local folder."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of the trainer's config."""
    steps: int = 3


class Trained(Struct, frozen=True):
    """What a run came to."""

    stage: str | None = None
    """Where it failed: "construct" (the trainer, and the engine in it) or "train"; None if not."""
    error: str | None = None
    differences: list[float | None] = field(default_factory=list)
    """As TRL logs it, the largest of each step; None where it is not a number."""
    before: float | None = None
    """The largest difference for 8 sampled tokens, before the first weight sync and after."""
    after: float | None = None
    completion: float | None = None
    """Mean length of the completions, tokens."""
    architecture: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def difference(self) -> float | None:
        """The largest of all that were measured after a sync; None if one is not a number."""
        found = [*self.differences, self.after]
        return max((d for d in found if d is not None), default=None) if all_known(found) else None

    @property
    def in_step(self) -> bool:
        return self.stage is None and self.difference is not None and self.difference <= TOLERANCE


def all_known(values: list[float | None]) -> bool:
    return bool(values) and None not in values


def train(isolation: Isolation, request: Training, deadline: float) -> Trained:
    """Run it in a child; a child that dies or hangs is an outcome, with the stage "hang" or "died".
    ``deadline`` is in seconds.
    """
    start = time.perf_counter()
    result = isolation.run(train_here, request, answer=Trained, deadline=deadline)
    if isinstance(result, Death):
        late = result.how.startswith("still running")
        result = Trained("hang" if late else "died", f"the trainer {result.how}")
    result.seconds["total"] = round(time.perf_counter() - start, 2)
    return result


def train_here(request: Training) -> Trained:
    """Run it in this process (a child)."""
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.pop("VLLM_ENABLE_V1_MULTIPROCESSING", None)  # the harness's own; not a trainer's
    import torch

    if not torch.cuda.is_available():
        keep_weights()
        torch._dynamo.config.disable = True  # or the sampler's helpers are compiled: a minute
    import datasets
    import transformers
    import trl
    import trl.generation.vllm_generation as generation

    datasets.disable_progress_bars()
    made = generation.LLM
    generation.LLM = lambda **kwargs: made(**{**kwargs, **request.kwargs})
    args = trl.GRPOConfig(
        **{
            "output_dir": str(Path(tempfile.gettempdir()) / f"trl-{os.getpid()}"),
            "use_vllm": True,
            "vllm_mode": "colocate",
            "vllm_gpu_memory_utilization": 0.1,
            "vllm_max_model_length": 128,
            "use_cpu": not torch.cuda.is_available(),
            "bf16": False,
            "model_init_kwargs": {"dtype": "float32"},
            "temperature": TEMPERATURE,
            "max_steps": request.steps,
            "per_device_train_batch_size": 2,
            "num_generations": 2,
            "max_completion_length": 8,
            "learning_rate": 1e-3,
            "logging_steps": 1,
            "save_strategy": "no",
            "report_to": [],
            "ddp_find_unused_parameters": True,
            "seed": 0,
            **request.settings,
        }
    )
    stage, start = "construct", time.perf_counter()
    found: dict[str, Any] = {}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(request.model, padding_side="left")
        trainer = trl.GRPOTrainer(
            model=request.model,
            processing_class=tokenizer,
            reward_funcs=_reward,
            args=args,
            train_dataset=datasets.Dataset.from_dict({"prompt": ["a b c", "d e f"] * 4}),
        )
        engine = trainer.vllm_generation.llm
        found["architecture"] = str(engine.llm_engine.model_config.architecture)
        built = time.perf_counter()
        stage = "train"
        found["before"] = gap(trainer, engine)
        trainer.train()
        trainer.vllm_generation.sync_weights()
        found["after"] = gap(trainer, engine)
    except (Exception, SystemExit) as error:
        message = f"{type(error).__name__}: {error}".replace(request.model, "<checkpoint>")
        found |= {"stage": stage, "error": message.replace(sys.prefix, "<python>")[:2000]}
    else:
        logged = [e for e in trainer.state.log_history if "completions/mean_length" in e]
        lengths = [entry["completions/mean_length"] for entry in logged]
        found["differences"] = [_number(e.get(_LOGGED)) for e in logged]
        found["completion"] = sum(lengths) / len(lengths) if lengths else None
        train_seconds = round(time.perf_counter() - built, 2)
        found["seconds"] = {"construct": round(built - start, 2), "train": train_seconds}
    return Trained(**found)


_LOGGED = "sampling/sampling_logp_difference/max"


def _number(value: Any) -> float | None:
    with suppress(TypeError, ValueError):
        return float(value) if float(value) == float(value) else None
    return None


def _reward(completions: list[str], **_: Any) -> list[float]:
    return [float(len(set(text))) for text in completions]


def gap(trainer: Any, engine: Any) -> float | None:
    """The largest difference between the engine's logprobs of 8 tokens that it samples, at
    ``TEMPERATURE``, and what the trainer's model gives them.
    """
    import torch
    from vllm import SamplingParams

    sampling = SamplingParams(temperature=TEMPERATURE, max_tokens=8, logprobs=0, ignore_eos=True)
    (output,) = engine.generate([{"prompt_token_ids": list(PROMPT)}], sampling, use_tqdm=False)
    tokens = list(output.outputs[0].token_ids)
    theirs = [step[t].logprob for step, t in zip(output.outputs[0].logprobs, tokens, strict=True)]
    with torch.inference_mode():
        ids = torch.tensor([[*PROMPT, *tokens]], device=trainer.model.device)
        logits = trainer.model(input_ids=ids).logits[0, len(PROMPT) - 1 : -1].float() / TEMPERATURE
    ours = torch.log_softmax(logits, -1)[range(len(tokens)), tokens].tolist()
    return _number(max(abs(a - b) for a, b in zip(ours, theirs, strict=True)))


def keep_weights() -> None:
    """Without it vLLM packs a linear layer's weight for the CPU and drops it, so that none can be
    loaded again: the one function that is replaced for these runs.
    """
    import torch
    import vllm.model_executor.layers.utils as layers

    def plain(layer: Any, remove_weight: bool = False) -> None:  # noqa: ARG001
        layer.cpu_linear = torch.nn.functional.linear

    layers.dispatch_cpu_unquantized_gemm = plain
