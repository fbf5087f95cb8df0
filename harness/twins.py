"""Which text class loads a multimodal checkpoint that has lost its towers: found by running it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness import engine, tiny
from harness.errors import HarnessError
from harness.isolation import Isolation
from harness.outcome import Reference, Request
from harness.reference import Wanted, compare, reference
from harness.tiny.families import FAMILIES


def find_twins(
    isolation: Isolation, architectures: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str | None]]:
    """For every multimodal tiny family that can be built here: its architecture and the text class
    that loads its text weights and agrees with transformers; None where none of those tried does.

    ``architectures`` as in ``harness.record_engine``. An architecture may come up more than once,
    with other text models.
    """
    for name, family in FAMILIES.items():
        known = architectures.get(family.architecture, _ABSENT)
        if family.processor is None or "error" in known:
            continue
        try:
            tried = isolation.call(_candidates, name, answer=list[str])
            folder = isolation.call(tiny.build, name, ["drop-towers"], answer=Path)
            healthy = isolation.call(tiny.build, name, [], answer=Path)
            wanted = isolation.call(
                reference,
                str(healthy),
                family.architecture,
                Wanted(),
                "float32",
                "cpu",
                answer=Reference,
            )
        except HarnessError:
            continue  # not with the installed transformers
        yield (
            family.architecture,
            next(
                (
                    text
                    for text in tried
                    if "supports_multimodal" not in architectures.get(text, _ABSENT)["flags"]
                    and _loads(isolation, folder, text, wanted)
                ),
                None,
            ),
        )


_ABSENT: Mapping[str, Any] = {"error": "not registered", "flags": ["supports_multimodal"]}


def _candidates(family: str) -> list[str]:
    """Text classes that may fit: by name, and that of the text config in transformers."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as NAMES

    stem = FAMILIES[family].architecture.removesuffix("ForConditionalGeneration")
    words = re.findall("[A-Z][^A-Z]*", stem)
    found = ["".join(words[:n]) + "ForCausalLM" for n in range(len(words), 0, -1)]
    kind = FAMILIES[family].config.get("text_config", {}).get("model_type", "")
    listed = NAMES.get(kind, [])
    found += [listed] if isinstance(listed, str) else listed
    return list(dict.fromkeys(found))


def _loads(isolation: Isolation, folder: Path, text: str, wanted: Reference) -> bool:
    kwargs = {
        "dtype": "float32",
        "hf_overrides": {"architectures": [text]},
        "enable_prefix_caching": False,  # a hybrid class without a linear layer cannot align it
    }
    outcome = engine.run(isolation, Request(str(folder), wanted.prompt, kwargs), 600)
    return outcome.ok and compare(outcome, wanted, "float32").ok
