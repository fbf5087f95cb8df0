"""What was recorded of each vLLM version: its engine arguments and the architectures it has.

The tables in ``data/engines`` are written by ``harness record-engine`` and never by hand. A version
between two recorded ones has what either of them has; above the newest, the newest decides, and
below the oldest, the oldest.
"""

import functools
from typing import Any

import msgspec
from packaging.version import Version

from presets.ranges import base_version
from presets.registry import DATA, engine_versions


class Argument(msgspec.Struct, frozen=True):
    """One argument of the engine: its type as text, its default, and how it may be given."""

    type: str
    default: Any = None
    json: bool = False
    """Whether a value may be a JSON object: a mapping, or a config dataclass."""
    flags: list[str] | None = None
    """Its flags, such as ``--x`` and ``--no-x``; empty: it has none; None: not recorded."""

    @property
    def takes_text(self) -> bool:
        """Whether a plain string is a value, too."""
        return "str" in self.type.split(" | ")


class Architecture(msgspec.Struct, frozen=True):
    """One name that ``architectures`` of a config may hold, and the model class behind it."""

    model: str
    """``module:class`` below ``vllm.model_executor.models``; several names may share one."""
    flags: list[str] = []
    """The interfaces that the class has, as vLLM inspects it: ``supports_multimodal``, ..."""
    attention: str = "decoder"
    """``attn_type``: what kind of attention the class runs."""
    mapper: dict[str, dict[str, str | None]] = {}
    """How the class renames tensors of a checkpoint as it loads them: "prefix", "substr", "suffix"
    or "regex" -> old -> new; None: the tensor is left out."""
    error: str = ""
    """Why the class could not be imported where it was recorded: then flags are not known."""


class Engine(msgspec.Struct, frozen=True):
    """One recorded version."""

    vllm: str
    torch: str
    transformers: str
    python: str
    arguments: dict[str, Argument]
    """Of ``EngineArgs``."""
    llm_only: dict[str, Argument]
    """What ``LLM`` takes on top of them."""
    async_only: dict[str, Argument]
    """What ``AsyncEngineArgs``, which is behind ``vllm serve``, takes on top of them."""
    architectures: dict[str, Architecture] = {}
    model_types: list[str] = []
    """What ``model_type`` may be: what transformers knows, and what vLLM adds."""
    suffixes: list[str] = []
    """Ends of architectures that stand for each other: a class that is not registered is made of
    one that is, such as ``XForSequenceClassification`` of ``XForCausalLM``."""
    previously_supported: dict[str, str] = {}
    """Architecture -> the last version that had it, as this one says."""
    twins: dict[str, str | None] = {}
    """Multimodal architecture -> the text class that loads its checkpoint without the tower
    weights and agrees with transformers, by a run; None: none of those tried does."""

    def has(self, architecture: str) -> bool:
        """Whether it is registered, or made of one that is, as vLLM's registry resolves it."""
        suffix = next((s for s in self.suffixes if architecture.endswith(s)), None)
        made_of = [architecture.replace(suffix, s) for s in self.suffixes] if suffix else []
        return any(name in self.architectures for name in (architecture, *made_of))


@functools.cache
def engine(version: str) -> Engine:
    """The record of a version of ``engine_versions()``."""
    return msgspec.json.decode((DATA / "engines" / f"{version}.json").read_bytes(), type=Engine)


def neighbours(vllm: str) -> list[str]:
    """The recorded versions that decide for a version: itself, or the one on either side."""
    version = base_version(vllm)
    versions = list(engine_versions())
    below = [v for v in versions if Version(v) <= version]
    if below and Version(below[-1]) == version:
        return below[-1:]
    return below[-1:] + versions[len(below) : len(below) + 1]
