"""The reference: what transformers computes for the healthy checkpoint, greedily, and the
comparison of an engine run with it. Runs in a child, as everything that needs torch does.
"""

import math
from typing import Any

from msgspec import Struct

from harness.outcome import TOP, Outcome, Reference, Step
from harness.tiny.tokenizer import PROMPT

TOLERANCE = {"float32": 1e-3, "bfloat16": 0.25}
"""Largest accepted difference of two logprobs, by dtype. Measured on CPU in float32: below 1e-4
for every tiny family."""


class Parity(Struct, frozen=True):
    """An engine run against the reference."""

    ok: bool
    tokens_equal: bool
    max_logprob_diff: float | None
    """Over the reference's top logprobs, up to the first token that differs; None where the
    engine computed something that is not a number."""
    tolerance: float


def reference(
    folder: str, architecture: str, prompt: str | None, dtype: str, device: str, steps: int = 8
) -> Reference:
    """Greedy tokens and top logprobs of ``architecture`` (a class of transformers) on a folder.

    ``prompt`` is tokenized with the checkpoint's own tokenizer; None means the fixed prompt of
    24 token ids. The whole sequence is computed anew for every step: slow and simple.
    """
    import torch
    import transformers

    model_class: Any = getattr(transformers, architecture)
    model = model_class.from_pretrained(folder, dtype=getattr(torch, dtype)).to(device).eval()
    text = None
    ids = list(PROMPT)
    if prompt is not None:
        text = transformers.AutoTokenizer.from_pretrained(folder)
        ids = list(text(prompt)["input_ids"])
    found: list[Step] = []
    with torch.inference_mode():
        for _ in range(steps):
            sequence = [*ids, *(step.token for step in found)]
            logits = model(input_ids=torch.tensor([sequence], device=device)).logits[0, -1]
            top = torch.log_softmax(logits.float(), -1).topk(TOP)
            values = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            logprobs = {str(i): round(p, 6) for i, p in values}
            found.append(Step(top.indices[0].item(), logprobs))
    words = text.decode([step.token for step in found]) if text else ""
    return Reference(found, ids, words)


def compare(outcome: Outcome, wanted: Reference, dtype: str) -> Parity:
    """Compare position by position until the tokens part.

    In float32 all tokens must be equal and every shared top logprob within the tolerance. In
    bfloat16 the tokens may part where the engine's choice is a near tie in the reference.
    """
    tolerance = TOLERANCE[dtype]
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
