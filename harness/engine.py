"""One run of a checkpoint in the real engine, in a child, with its stage and its error."""

import math
import resource
import sys
import time
import traceback
from collections.abc import Iterable
from typing import Any

from harness.isolation import Death, Isolation
from harness.outcome import TOP, Outcome, Request, Step

KWARGS: dict[str, Any] = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": 128,
    "max_num_seqs": 4,
    "distributed_executor_backend": "uni",
    "seed": 0,
    "num_gpu_blocks_override": 64,  # instead of filling GiBs of cache with zeros in each run
}
"""What every run sets; a claim's ``engine`` table goes over it."""

STAGES = {
    "create_engine_config": "config",
    "initialize_model": "construct",
    "load_weights": "load",
    "process_weights_after_loading": "load",
    "determine_available_memory": "profile",
    "profile_run": "profile",
    "initialize_kv_caches": "profile",
    "_initialize_kv_caches": "profile",
    "compile_or_warm_up_model": "profile",
    "_generate": "generate",
}
"""Function on the stack -> stage; the innermost one counts. Names that held from vLLM 0.13 to
0.32. A failure after the config and outside all of them is the engine's construction."""

_ENGINES: list[Any] = []
"""Keeps the engine of this child alive: its teardown takes a second and proves nothing."""

OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "No available memory for the cache blocks",
    "less than desired GPU memory utilization",
    "larger than the available KV cache memory",
)


def run(isolation: Isolation, request: Request, deadline: float) -> Outcome:
    """Run the request in a child. Never raises for what happens there: a crash, a hang, an exit
    or exhausted memory is an ``Outcome`` with ``blocked`` set. ``deadline`` is in seconds.
    """
    start = time.perf_counter()
    result = isolation.run(run_here, request, answer=Outcome, deadline=deadline)
    if isinstance(result, Death):
        error = f"the engine process {result.how}"
        stage = stage_of(result.functions) if result.functions else None
        result = Outcome(False, stage, error, blocked=error)
    total = round(time.perf_counter() - start, 2)
    result.seconds["total"] = total
    return result


def run_here(request: Request) -> Outcome:
    """Run the request in this process (a child); an exception is part of the outcome."""
    start = time.perf_counter()
    try:
        import torch
        from vllm import LLM

        kwargs = {**KWARGS, **request.kwargs}
        if kwargs["enforce_eager"]:  # eager forwards still compile the sampler's helpers: 3 s
            torch._dynamo.config.disable = True
        llm = LLM(request.model, **kwargs)
        _ENGINES.append(llm)
        load = round(time.perf_counter() - start, 2)
        steps, text, vector = _generate(llm, request)
    except (Exception, SystemExit) as error:
        functions = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        message = _message(error).replace(request.model, "<checkpoint>")
        message = message.replace(sys.prefix, "<python>")
        return Outcome(False, stage_of(functions), message, _no_proof(error, message))
    return Outcome(
        ok=True,
        architecture=_architecture(llm),
        steps=steps,
        text=text,
        vector=vector,
        seconds={"load": load, "generate": round(time.perf_counter() - start - load, 2)},
        peak_mib=_peak_mib(),
    )


def stage_of(functions: Iterable[str]) -> str:
    """The stage that a stack of function names (outermost first) is in."""
    named = [STAGES[name] for name in functions if name in STAGES]
    return named[-1] if named else "construct"


def _generate(llm: Any, request: Request) -> tuple[list[Step], str, list[float | None]]:
    from vllm import SamplingParams

    prompt: Any = {"prompt_token_ids": request.prompt}
    if request.task == "embed":
        return [], "", _finite(llm.embed([prompt], use_tqdm=False)[0].outputs.embedding)
    if request.task in ("token_embed", "token_classify"):
        output = llm.encode([prompt], pooling_task=request.task, use_tqdm=False)[0].outputs.data
        return [], "", _finite(output.flatten().tolist())
    if request.task in ("classify", "reward"):
        return [], "", _finite(llm.classify([prompt], use_tqdm=False)[0].outputs.probs)
    greedy = SamplingParams(temperature=0.0, max_tokens=request.max_tokens, logprobs=TOP)
    output = llm.generate([prompt], greedy, use_tqdm=False)[0].outputs[0]
    steps = [
        Step(token, {str(i): round(p.logprob, 6) for i, p in top.items()})
        for token, top in zip(output.token_ids, output.logprobs, strict=True)
    ]
    return steps, output.text, []


def _finite(values: Iterable[float]) -> list[float | None]:
    return [round(value, 7) if math.isfinite(value) else None for value in values]


def _architecture(llm: Any) -> str:
    return str(llm.llm_engine.model_config.architecture)


def _message(error: BaseException) -> str:
    """``Type: text`` of the error and of what it was raised from; for an error without a text, such
    as of a bare assert, the line of the source that raised it.
    """
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(parts) < 4:
        raised = traceback.extract_tb(cause.__traceback__)
        text = str(cause) or (raised[-1].line if raised else "")
        parts.append(f"{type(cause).__name__}: {text}"[:2000])
        cause = cause.__cause__
    return "\ncaused by ".join(parts)


def _no_proof(error: BaseException, message: str) -> str | None:
    """Why the failure says nothing about the checkpoint, or None if it may."""
    if isinstance(error, SystemExit):
        return f"the engine process called sys.exit({error.code})"
    lowered = message.lower()
    if isinstance(error, MemoryError) or any(m.lower() in lowered for m in OUT_OF_MEMORY):
        return f"out of memory: {message[:200]}"
    if "See stack trace" in message:
        # vLLM 0.20 to 0.22 start one on the CPU whatever executor is asked for
        return "the engine failed in a worker process of its own, which hides the error"
    return None


def _peak_mib() -> float:
    import torch

    if torch.cuda.is_available():
        return float(round(torch.cuda.max_memory_allocated() / 2**20, 1))
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
