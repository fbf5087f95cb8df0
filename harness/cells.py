"""Cells: which claims of a preset can be tried here, and the key under which a finished one is
found again.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.outcome import Environment
from harness.tiny.builder import builder_digest
from presets import Preset
from presets.ranges import base_version, parse_range
from presets.schema import Claim

PROTOCOL = 1
"""Raised when the harness runs or judges cells differently, so that old records do not count."""


@dataclass(frozen=True)
class Cell:
    """One claim of one preset, to be run without and with it."""

    preset: Preset
    claim: Claim
    unknown: str = ""
    """Why there is no tiny checkpoint for it: a Hub claim that stands in the table all the same."""

    @property
    def label(self) -> str:
        """What is on the row of the table."""
        return label(self.claim.checkpoint, self.claim.defects, self.claim.engine)

    def key(self, environment: Environment) -> str:
        """16 hex digits over everything that the result depends on."""
        parts = (
            PROTOCOL,
            dict(self.preset),
            list(self.preset.when),
            self.preset.steps if self.preset.repair else None,
            self.claim,
            builder_digest(),
            environment,
        )
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:16]


def label(checkpoint: str, defects: Iterable[str], engine: Mapping[str, Any]) -> str:
    """E.g. ``gemma4 + drop-processor + enforce_eager=False``."""
    return " + ".join([checkpoint, *defects, *(f"{k}={v}" for k, v in engine.items())])


def cells(
    presets: Iterable[Preset], vllm: str, device: str | None = None, *, hub: bool
) -> list[Cell]:
    """The cells of a vLLM version and a device ("cpu", "cuda"; None: of any), on Hub checkpoints
    (``hub``) or on built ones. Among the latter an unproven preset has its Hub cells, as unknown.
    """
    version = base_version(vllm)
    return [
        Cell(preset, claim, "" if hub else preset.unproven)
        for preset in presets
        for claim in preset.claims
        if (claim.on_hub == hub or preset.unproven)
        and not (hub and claim.control == "unknown")
        and (device is None or claim.device in (None, device))
        and version in parse_range(claim.vllm)
    ]
