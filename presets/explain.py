"""What a code of ``presets check`` means: its condition, the runs behind it, what to do."""

import difflib

from msgspec import Struct

from presets.check import advice, code
from presets.errors import UnknownNameError
from presets.evidence import Proof, proofs
from presets.preset import Preset
from presets.registry import bind, load_all, offered, resolve
from presets.schema import Condition, PresetFile

VERDICTS = {
    "loads": (
        (
            "vLLM was seen to load a checkpoint of this layout (class, sub-configs, tensor names)"
            " in the recorded versions next to the one asked for. Nothing is wrong with the files."
        ),
        "Nothing.",
    ),
    "unknown": (
        (
            "No condition of a preset or fault holds, and no checkpoint of this layout was seen to "
            "load: nothing is claimed either way. The reason says what is missing."
        ),
        "Try the engine. When it fails: presets explain --log FILE.",
    ),
}
"""The codes that belong to no preset: what each means, and what to do."""

_FACTS = {
    "architectures": "config.json declares the class",
    "model_type": "model_type is",
    "configs": "config.json has the tables",
    "null_configs": "null or absent in config.json:",
    "values": "config.json has",
    "tensors": "some tensor name starts with each of",
    "no_tensors": "no tensor name starts with",
    "files": "the folder has",
    "no_files": "the folder has none of",
    "tokenizer_class": "tokenizer_class is",
    "image_processor": "image_processor_type of preprocessor_config.json is",
    "transformers": "saved by transformers",
    "marks": "found wrong with the files:",
    "vllm": "on vLLM",
}
"""Every fact of a condition, in words."""


class Why(Struct, frozen=True):
    """One condition: why the checkpoint does not load, and how that is seen."""

    code: str
    why: str
    facts: list[str]


class Explanation(Struct, frozen=True):
    """All that is known of a code."""

    code: str
    verdict: str
    summary: str
    vllm: str
    """The version that ``do`` is for."""
    conditions: list[Why]
    """Why it happens; empty where the files show nothing of it."""
    proofs: list[Proof]
    do: str
    """What to pass, in the form of the consumer asked for, or what to do to the checkpoint."""
    caveat: str
    unproven: str
    sources: list[str]


def explain(wanted: str, vllm: str | None = None, consumer: str | None = None) -> Explanation:
    """What a code means: ``loads``, ``unknown``, ``preset`` or ``preset/condition-code``.

    ``vllm`` defaults as in ``presets.get``, or to the nearest version that the preset is offered
    for. UnknownNameError suggests the nearest codes, UnsupportedVersionError says that the preset
    is not offered for the version stated.
    """
    if wanted in VERDICTS:
        meaning, do = VERDICTS[wanted]
        return Explanation(wanted, wanted, meaning, vllm or "", [], [], do, "", "", [])
    name, _, condition = wanted.partition("/")
    file = _file(name, wanted)
    preset = bind(file.name, vllm, untested=True) if vllm else Preset(file, offered(file))
    conditions = [c for c in preset.when if not condition or c.code == condition]
    if condition and not conditions:
        raise _unknown(wanted)
    return Explanation(
        f"{preset.name}/{condition}" if condition else preset.name,
        "fault" if preset.repair else "preset",
        preset.summary,
        preset.vllm,
        [Why(code(preset, c), c.why, in_words(c)) for c in conditions],
        proofs(preset),
        advice(preset, consumer),
        preset.caveat,
        preset.unproven,
        list(preset.sources),
    )


def codes() -> list[str]:
    """Every code there is, sorted."""
    found = {*VERDICTS}
    for file in load_all():
        found |= {file.name, *(f"{file.name}/{c.code}" for c in file.when if c.code)}
    return sorted(found)


def in_words(condition: Condition) -> list[str]:
    """The facts that a condition asks for, one phrase each; all must hold."""
    return [
        f"{words} {_listed(getattr(condition, field))}"
        for field, words in _FACTS.items()
        if getattr(condition, field)
    ]


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {' or '.join(map(repr, v))}" for key, v in value.items())
    if isinstance(value, list):
        return ", ".join(item or "(none)" for item in value)
    return str(value)


def _file(name: str, wanted: str) -> PresetFile:
    try:
        return resolve(name)
    except UnknownNameError:
        raise _unknown(wanted) from None


def _unknown(wanted: str) -> UnknownNameError:
    near = difflib.get_close_matches(wanted, codes(), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "presets list has all presets"
    return UnknownNameError(f"there is no code {wanted!r}; {hint}")
