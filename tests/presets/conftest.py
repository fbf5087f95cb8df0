"""Presets and consumers made on the spot, so that a test states all it depends on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from presets import Preset
from presets.schema import (
    Claim,
    Condition,
    Conflict,
    ConsumerFile,
    Failure,
    Guard,
    KwargsBlock,
    PresetFile,
)

# A busy machine must not fail a property test: no time limits.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

SOURCE = "https://github.com/vllm-project/vllm/issues/1"

TOML = """\
name = "demo"
family = "demo"
summary = "A preset for tests."
vllm = ">=0.19.0"
essential = ["hf_overrides.architectures"]
sources = ["https://github.com/vllm-project/vllm/issues/1"]

[[when]]
why = "it is a test"

[[kwargs]]
vllm = ">=0.19.0"
engine.hf_overrides.architectures = ["BertModel"]

[[claims]]
checkpoint = "demo"
vllm = ">=0.19.0"
control = { stage = "load", error = "does not load" }
sources = ["https://github.com/vllm-project/vllm/issues/1"]
"""


@pytest.fixture
def make_preset() -> Callable[..., Preset]:
    def make(
        engine: dict[str, Any],
        essential: list[str] | None = None,
        conflicts: dict[str, str] | None = None,
        vllm: str = "0.32.0",
        **fields: Any,
    ) -> Preset:
        file = PresetFile(
            name="demo",
            family="demo",
            summary="A preset for tests.",
            vllm=">=0.13.0",
            essential=essential or [],
            sources=[SOURCE],
            when=[Condition(why="it is a test")],
            kwargs=[KwargsBlock(vllm=">=0.13.0", engine=engine)],
            claims=[
                Claim(
                    checkpoint="demo",
                    vllm=">=0.13.0",
                    control=Failure(stage="load", error="does not load"),
                    sources=[SOURCE],
                )
            ],
            conflicts=[Conflict(key=k, reason=why) for k, why in (conflicts or {}).items()],
            **fields,
        )
        return Preset(file, vllm)

    return make


@pytest.fixture
def make_consumer() -> Callable[..., ConsumerFile]:
    def make(*keys: str, **fields: Any) -> ConsumerFile:
        guards = [
            Guard(
                key=key,
                reason=f"{key} must stay in step",
                failure="silent",
                instead=f"the trainer's {key}",
                evidence=[SOURCE],
                **fields,
            )
            for key in keys
        ]
        return ConsumerFile(
            name="demo-trainer",
            summary="A trainer for tests.",
            versions="1.0",
            form="python",
            how="Pass them.",
            sources=[SOURCE],
            guards=guards,
        )

    return make


@pytest.fixture
def demo_toml(tmp_path: Path) -> Callable[..., Path]:
    """Writes a valid preset file with pieces of its text replaced."""

    def write(*changes: tuple[str, str], name: str = "demo.toml") -> Path:
        text = TOML
        for old, new in changes:
            assert old in text, f"{old!r} is not in the sample file"
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
