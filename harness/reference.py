"""The reference: what transformers computes for the healthy checkpoint, greedily, and the
comparison of an engine run with it. Runs in a child, as everything that needs torch does.
"""

import math
from pathlib import Path
from typing import Any

from msgspec import Struct

from harness.outcome import TOP, Outcome, Reference, Step
from harness.tiny.tokenizer import PROMPT
from presets.schema import Pooling, Task

TOLERANCE = {"float32": 1e-3, "bfloat16": 0.5}
"""Largest accepted difference of two logprobs, or distance of two vectors, by dtype. Measured on
CPU in float32, over all claims: at most 1.6e-4 for logprobs, 5e-6 for vectors. In bfloat16 a logit
of 16 to 32 has steps of 0.125; the real weights of SmolLM2-135M differed by under 0.25 on one CPU,
by 0.42 on another."""


class Parity(Struct, frozen=True):
    """An engine run against the reference."""

    ok: bool
    tokens_equal: bool
    max_logprob_diff: float | None
    """Over the reference's top logprobs, up to the first token that differs; None where the
    engine computed something that is not a number."""
    tolerance: float


class Wanted(Struct, frozen=True):
    """What is asked of the reference: a claim's own fields."""

    prompt: str | None = None
    task: Task = "generate"
    pooling: Pooling | None = None
    labels: tuple[str, ...] = ()
    trust_remote_code: bool = False
    """Load it through the checkpoint's own code."""


def reference(
    folder: str, architecture: str, wanted: Wanted, dtype: str, device: str, steps: int = 8
) -> Reference:
    """What ``architecture`` (a class of transformers) computes on a folder: greedy tokens with
    top logprobs, an L2-normalised embedding, or class probabilities.

    ``prompt`` is tokenized with the checkpoint's own tokenizer; None means the fixed prompt of
    24 token ids. The whole sequence is computed anew for every step: slow and simple.
    """
    import torch
    import transformers

    options = {}
    if wanted.trust_remote_code:
        options["trust_remote_code"] = True
        architecture = "AutoModelForCausalLM" if wanted.task == "generate" else "AutoModel"
    model_class: Any = getattr(transformers, architecture)
    model = model_class.from_pretrained(folder, dtype=getattr(torch, dtype), **options)
    model = model.to(device).eval()
    text = None
    ids = list(PROMPT)
    if wanted.prompt is not None or wanted.labels:
        text = transformers.AutoTokenizer.from_pretrained(folder, **options)
    if text is not None and wanted.prompt is not None:
        ids = list(text(wanted.prompt)["input_ids"])
    found: list[Step] = []
    with torch.inference_mode():
        if wanted.task != "generate":
            inputs = torch.tensor([ids], device=device)
            return Reference([], ids, vector=_vector(model, text, inputs, wanted))
        for _ in range(steps):
            sequence = [*ids, *(step.token for step in found)]
            logits = model(input_ids=torch.tensor([sequence], device=device)).logits[0, -1]
            top = torch.log_softmax(logits.float(), -1).topk(TOP)
            values = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            logprobs: dict[str, float | None] = {str(i): round(p, 6) for i, p in values}
            found.append(Step(top.indices[0].item(), logprobs))
    words = text.decode([step.token for step in found]) if text else ""
    return Reference(found, ids, words)


def _vector(model: Any, text: Any, inputs: Any, wanted: Wanted) -> list[float]:
    output = model(input_ids=inputs, output_hidden_states=True)
    if wanted.pooling == "splade":
        return _floats(output.logits[0].relu().log1p().amax(0))
    if wanted.task in ("embed", "token_embed", "token_classify"):
        states = _project(output.hidden_states[-1][0].float(), model.name_or_path, wanted.task)
        # a tiny checkpoint whose claims ask for that many by ``pooler_config.dimensions``
        states = states[:, : getattr(model.config, "asked_dimensions", None)]
        if wanted.task == "token_classify":  # a lexical weight for each token
            return _floats(states.relu())
        if wanted.task == "embed":
            pooled = {"cls": states[0], "last": states[-1], "mean": states.mean(0)}
            states = pooled[wanted.pooling or "last"]
        return _floats(states / states.norm(dim=-1, keepdim=True))
    if wanted.labels:
        ids = [text.convert_tokens_to_ids(label) for label in wanted.labels]
        logits = output.logits[0, -1, ids].float()
        return _floats((logits[0] if len(ids) == 1 else logits[1] - logits[0]).sigmoid())
    logits = output.logits[0].float()
    if wanted.task == "reward":
        return _floats(logits)
    independent = len(logits) == 1 or model.config.problem_type == "multi_label_classification"
    return _floats(logits.sigmoid() if independent else logits.softmax(-1))


def _project(states: Any, folder: str, task: Task) -> Any:
    """The hidden states through the head that a late-interaction model or an embedder keeps beside
    the layers: a tensor ``linear.weight``, or a file of its own.
    """
    import torch
    from safetensors import safe_open

    heads = {"token_embed": ["colbert_linear.pt"], "token_classify": ["sparse_linear.pt"]}
    for name in (*heads.get(task, []), "1_Dense/model.safetensors", "model.safetensors"):
        if not (path := Path(folder) / name).exists():
            continue
        if path.suffix == ".pt":
            found = torch.load(path)
        else:
            with safe_open(path, "pt") as file:
                names = {"linear.weight", "linear.bias"} & set(file.keys())
                found = {key.removeprefix("linear."): file.get_tensor(key) for key in names}
        if "weight" in found:
            values = {key: tensor.to(states) for key, tensor in found.items()}
            return torch.nn.functional.linear(states, **values)
    return states


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values.flatten()]


def compare(outcome: Outcome, wanted: Reference, dtype: str) -> Parity:
    """Compare position by position until the tokens part.

    In float32 all tokens must be equal and every shared top logprob within the tolerance. In
    bfloat16 the tokens may part where the engine's choice is a near tie in the reference.
    """
    tolerance = TOLERANCE[dtype]
    if wanted.vector:
        return _compare_vectors(outcome.vector, wanted.vector, tolerance)
    worst, equal, near_tie = 0.0, True, True
    for ours, theirs in zip(outcome.steps, wanted.steps, strict=False):
        expected = {token: p for token, p in theirs.logprobs.items() if p is not None}
        for token, logprob in ours.logprobs.items():
            if logprob is None:
                worst = math.inf
            elif token in expected:
                worst = max(worst, abs(logprob - expected[token]))
        if ours.token != theirs.token:
            best = expected[str(theirs.token)]
            near_tie = best - expected.get(str(ours.token), -math.inf) <= tolerance
            equal = False
            break
    equal = equal and len(outcome.steps) == len(wanted.steps)
    tokens_ok = equal or (dtype != "float32" and near_tie)
    shown = round(worst, 6) if math.isfinite(worst) else None
    return Parity(tokens_ok and worst <= tolerance, equal, shown, tolerance)


def _compare_vectors(ours: list[float | None], theirs: list[float], tolerance: float) -> Parity:
    """Their distance, relative to the reference's length where that is over 1, within the
    tolerance: of a thousand components none need differ much for an embedding to be another.
    """
    known = [value for value in ours if value is not None]
    if len(ours) != len(theirs) or len(known) != len(ours):
        return Parity(False, False, None, tolerance)
    off = math.dist(known, theirs) / max(1.0, math.hypot(*theirs))
    ok = off <= tolerance
    return Parity(ok, ok, round(off, 6), tolerance)
