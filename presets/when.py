"""Does a preset's condition hold for a checkpoint?"""

import fnmatch

import msgspec

from presets.architectures import absent, unknown_model_type
from presets.errors import UnsupportedVersionError
from presets.facts import Facts
from presets.preset import Preset
from presets.ranges import base_version, parse_range
from presets.schema import Condition, Mark
from presets.tree import MISSING, lookup


def matches(preset: Preset, facts: Facts) -> Condition | None:
    """The first condition of the preset that the checkpoint meets for the preset's vLLM
    version, None if it meets none.
    """
    seen = seen_by(facts, preset.vllm)
    return next((c for c in preset.when if _holds(c, seen, preset.vllm)), None)


def seen_by(facts: Facts, vllm: str) -> Facts:
    """The facts with what is wrong for one vLLM version: a class or a model type that it does not
    have.
    """
    declared = facts.architectures[0] if facts.architectures else ""
    marks: dict[Mark, str] = dict(facts.marks)
    if gone := absent(declared, vllm):
        marks["removed-architecture"] = f"{declared}: {gone}"
    own_code = lookup(facts.config, "auto_map.AutoConfig") is not MISSING
    if not own_code and (why := unknown_model_type(facts.model_type, vllm)):
        marks["unknown-model-type"] = f"{facts.model_type}: {why}"
    return msgspec.structs.replace(facts, marks=marks)


def _holds(condition: Condition, facts: Facts, vllm: str) -> bool:
    def some(prefixes: list[str]) -> list[bool]:
        return [any(name.startswith(p) for name in facts.tensors) for p in prefixes]

    def files(patterns: list[str]) -> list[list[str]]:
        return [fnmatch.filter(facts.files, p) for p in patterns]

    declared = facts.architectures[0] if facts.architectures else ""
    return (
        (not condition.architectures or declared in condition.architectures)
        and (not condition.model_type or facts.model_type in condition.model_type)
        and all(isinstance(facts.config.get(key), dict) for key in condition.configs)
        and all(lookup(facts.config, key) in (None, MISSING) for key in condition.null_configs)
        and all(lookup(facts.config, k) in found for k, found in condition.values.items())
        and all(some(condition.tensors))
        and not (condition.no_tensors and _may_be_there(facts))
        and not any(some(condition.no_tensors))
        and all(files(condition.files))
        and not any(files(condition.no_files))
        and (
            not condition.tokenizer_class
            or facts.tokenizer.get("tokenizer_class") in condition.tokenizer_class
        )
        and (not condition.image_processor or facts.image_processor in condition.image_processor)
        and (condition.transformers is None or _saved_by(facts, condition.transformers))
        and all(mark in facts.marks for mark in condition.marks)
        and (condition.vllm is None or base_version(vllm) in parse_range(condition.vllm))
    )


def _may_be_there(facts: Facts) -> bool:
    """Whether a tensor that is not seen is no proof of its absence."""
    return bool(facts.unread or not facts.tensors or "wrapper-prefix" in facts.marks)


def _saved_by(facts: Facts, versions: str) -> bool:
    try:
        return base_version(str(facts.config["transformers_version"])) in parse_range(versions)
    except (KeyError, UnsupportedVersionError):
        return False
