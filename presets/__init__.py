"""vLLM engine override presets, each with the runs that prove it.

>>> import presets
>>> preset = presets.get("gemma4-text", vllm="0.32.0")
>>> dict(preset)
{'hf_overrides': {'architectures': ['Gemma4ForCausalLM']}}
"""

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
    "check",
    "consumer_names",
    "find",
    "get",
    "lint",
    "merge",
    "names",
]
