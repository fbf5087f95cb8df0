"""vLLM engine override presets, each with the runs that prove it.

>>> import presets
>>> preset = presets.get("gemma4-text", vllm="0.32.0")
>>> dict(preset)
{'hf_overrides': {'architectures': ['Gemma4ForCausalLM']}}
"""

from typing import TYPE_CHECKING, Any

from presets.check import Check, Finding, check
from presets.errors import (
    CheckpointError,
    ContradictionError,
    DataError,
    FaultError,
    GuardError,
    KwargsError,
    PresetsError,
    RemoteCodeError,
    UnknownArgumentError,
    UnknownNameError,
    UnsupportedVersionError,
)
from presets.lint import lint
from presets.merge import Merged, merge
from presets.preset import Preset
from presets.registry import consumer_names, find, get, names

if TYPE_CHECKING:
    from presets.plugin import applied

__all__ = [
    "Check",
    "CheckpointError",
    "ContradictionError",
    "DataError",
    "FaultError",
    "Finding",
    "GuardError",
    "KwargsError",
    "Merged",
    "Preset",
    "PresetsError",
    "RemoteCodeError",
    "UnknownArgumentError",
    "UnknownNameError",
    "UnsupportedVersionError",
    "applied",
    "check",
    "consumer_names",
    "find",
    "get",
    "lint",
    "merge",
    "names",
]


def __getattr__(name: str) -> Any:
    if name == "applied":  # its imports cost as much as all the others
        from presets.plugin import applied

        return applied
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
