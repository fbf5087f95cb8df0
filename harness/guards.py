"""The guards of a trainer, each set on the engine's side alone in a real run: does it fail so?"""

import datetime as dt
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from harness import tiny
from harness.errors import HarnessError
from harness.isolation import Isolation
from harness.outcome import Environment
from harness.training import Trained, Training, train
from presets.registry import get
from presets.schema import ConsumerFile
from presets.tree import deep_merge

Effect = Literal["silent", "crash", "hang", "harmless"]
DEADLINE = 150.0
"""Seconds. A run takes 25 on two cores, and up to 70 where others share them."""


class Guarded(Struct, frozen=True):
    """What one key came to; a line of ``data/guards``."""

    consumer: str
    key: str
    trial: dict[str, Any]
    said: Effect
    """By the profile."""
    seen: Effect
    detail: str
    difference: float | None
    """The largest of two logprobs; None where the run failed, or one was not a number."""
    seconds: float
    vllm: str
    trl: str
    device: str
    date: str

    @property
    def held(self) -> bool:
        return self.said == self.seen


def effect(trained: Trained) -> Effect:
    """What a run shows: in step, apart without a word, failed, or still running at the deadline."""
    if trained.stage is not None:
        return "hang" if trained.stage == "hang" else "crash"
    return "harmless" if trained.in_step else "silent"


def try_guards(
    isolation: Isolation,
    environment: Environment,
    profile: ConsumerFile,
    known: Mapping[str, Guarded],
) -> Iterator[Guarded]:
    """Every guard and every harmless key of the profile that has a trial, but for those ``known``.

    HarnessError if trainer and engine are not in step without any of them.
    """
    preset = dict(get("gemma4-text", environment.vllm, untested=True))
    base = {**preset, "dtype": "float32", "enforce_eager": True}
    build = isolation.call(tiny.build, "gemma4", ["drop-towers", "drop-processor"], answer=Path)
    healthy = train(isolation, Training(str(build), base), 2 * DEADLINE)
    if not healthy.in_step:
        why = healthy.error or f"they differ by {healthy.difference}"
        raise HarnessError(
            f"{profile.name}: trainer and engine are not in step to begin with: {why}"
        )
    said: list[tuple[str, dict[str, Any], Effect]] = [
        *((guard.key, guard.trial, guard.failure) for guard in profile.guards if guard.trial),
        *((one.key, one.trial, "harmless") for one in profile.harmless),
    ]
    for key, trial, failure in said:
        if key in known and known[key].trial == trial and known[key].said == failure:
            yield known[key]
            continue
        request = Training(str(build), deep_merge(base, trial))
        found = train(isolation, request, DEADLINE)
        apart = f"largest difference of two logprobs: {found.difference}"
        yield Guarded(
            profile.name,
            key,
            trial,
            failure,
            effect(found),
            (found.error or apart).splitlines()[0][:300],
            found.difference,
            found.seconds["total"],
            environment.vllm,
            version("trl"),
            environment.device,
            dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        )
