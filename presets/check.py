"""Which presets a checkpoint needs, from its files alone."""

from pathlib import Path
from typing import Any

import msgspec

from presets.errors import UnsupportedVersionError
from presets.facts import read_facts
from presets.registry import bind, default_vllm, names
from presets.when import matches


class Advice(msgspec.Struct, frozen=True):
    """One preset, or fault, whose condition the checkpoint meets."""

    preset: str
    reason: str
    engine_kwargs: dict[str, Any]
    repair: str = ""
    """Of a fault: what to do to the checkpoint."""


class Check(msgspec.Struct, frozen=True):
    """What the presets say of one checkpoint; no advice means unknown, not healthy."""

    checkpoint: str
    vllm: str
    advice: list[Advice]


def check(checkpoint: str | Path, vllm: str | None = None) -> Check:
    """The presets whose condition a local checkpoint meets, sorted by name.

    Reads config.json, file names and safetensors headers. CheckpointError names the file that
    cannot be read; UnsupportedVersionError is for a ``vllm`` that is no version.
    """
    facts = read_facts(Path(checkpoint))
    version = vllm or default_vllm()
    advice = []
    for name in names():
        try:
            preset = bind(name, version, untested=True)
        except UnsupportedVersionError:
            continue  # the preset is not offered for this version
        if condition := matches(preset, facts):
            advice.append(Advice(name, condition.why, dict(preset), preset.repair))
    return Check(str(checkpoint), version, advice)
