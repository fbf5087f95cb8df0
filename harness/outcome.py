"""What crosses the pipe between the parent and a child: requests and results."""

from typing import Any

from msgspec import Struct, field

TOP = 5
"""Logprobs per position that are compared."""


class Request(Struct, frozen=True):
    """One run of one checkpoint in the engine."""

    model: str
    """Local folder."""
    prompt: list[int]
    """Token ids."""
    kwargs: dict[str, Any] = field(default_factory=dict)
    """Engine kwargs, over the harness's own (``engine.KWARGS``)."""
    task: str = "generate"
    """One of ``presets.schema.Task``."""
    max_tokens: int = 8


class Step(Struct, frozen=True):
    """One generated position."""

    token: int
    logprobs: dict[str, float | None]
    """Token id (as a string, for JSON) -> natural-log probability, the most likely ones; None
    where it is not a number (JSON has no NaN)."""


class Outcome(Struct, frozen=True):
    """What one run of the engine did."""

    ok: bool
    stage: str | None = None
    """Where it failed; None if it did not."""
    error: str | None = None
    """``Type: message`` of the failure, or how the child died."""
    blocked: str | None = None
    """Why the run proves nothing about the checkpoint (memory, signal, deadline); else None."""
    architecture: str | None = None
    """The model class that the engine built."""
    steps: list[Step] = field(default_factory=list)
    text: str = ""
    vector: list[float | None] = field(default_factory=list)
    """The embedding or the class probabilities; empty where tokens were generated."""
    seconds: dict[str, float] = field(default_factory=dict)
    """``load`` (until the engine answers), ``generate``, ``total`` (as the parent saw it)."""
    peak_mib: float = 0.0
    """Peak resident memory of the child; on a GPU, peak memory allocated on the device."""

    @property
    def tokens(self) -> list[int]:
        return [step.token for step in self.steps]


class Reference(Struct, frozen=True):
    """What transformers computes for the healthy checkpoint, greedily."""

    steps: list[Step]
    prompt: list[int]
    text: str = ""
    vector: list[float] = field(default_factory=list)


class Environment(Struct, frozen=True):
    """The software and the device that a run happened on."""

    vllm: str
    torch: str
    transformers: str
    torchvision: str | None
    python: str
    device: str
    """"cpu" or "cuda"."""
    gpu: str | None = None
    gpu_count: int = 0
    memory_gib: float = 0.0
    """Of one GPU, or of the machine."""
    driver: str | None = None
    problem: str | None = None
    """Why no run here can prove anything, e.g. torchvision that cannot be imported."""
