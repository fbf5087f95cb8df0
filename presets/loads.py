"""Which checkpoints were seen to load: the layouts of healthy ones, as the harness ran them.

``data/loads/VERSION.json`` is written by ``harness record-loads`` and never by hand: for every tiny
family that the engine loaded, and where it generates text answered as transformers does, what its
files say. A checkpoint that says the same is taken to load; any other is not known.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from presets.facts import Facts
from presets.registry import DATA
from presets.schema import Mark
from presets.tree import lookup

PROCESSOR = ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json")
TOKENIZER = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json")
HARMLESS: frozenset[Mark] = frozenset({"extra-special-tokens-list"})
"""Wrong for an engine with transformers 4 only, which that fault's versions say."""
_TOWER = re.compile(r"vision|visual|audio|image|encoder")
_GENERATES = re.compile(r"(ForCausalLM|ForConditionalGeneration|LMHeadModel)$")
_INDEX = re.compile(r"(?<=\.)[0-9]{1,6}(?=\.)")


class Layout(msgspec.Struct, frozen=True):
    """What the files of one healthy checkpoint say."""

    family: str
    """The tiny family that ran."""
    architecture: str
    model_type: str
    configs: dict[str, str]
    """Sub-config -> its model_type."""
    names: dict[str, bool]
    """Tensor name, indexes as ``*`` -> whether every index of its list has it."""
    processor: bool
    """It has processor files."""


@functools.cache
def layouts(vllm: str) -> tuple[Layout, ...]:
    """The layouts that a vLLM version was seen to load; none if it was not recorded."""
    path = DATA / "loads" / f"{vllm}.json"
    if not path.exists():
        return ()
    return msgspec.json.decode(path.read_bytes(), type=tuple[Layout, ...])


def layout(facts: Facts, family: str) -> Layout:
    """The layout of a checkpoint, under the name of a family."""
    return Layout(
        family,
        facts.architectures[0] if facts.architectures else "",
        facts.model_type,
        _configs(facts.config),
        _patterns(facts.tensors),
        bool(facts.files.intersection(PROCESSOR)),
    )


def seen_to_load(facts: Facts, known: Iterable[Layout]) -> tuple[Layout | None, str]:
    """The layout that the checkpoint has; or None and why none of those known is its own."""
    declared = facts.architectures[0] if facts.architectures else ""
    wrong = [found for mark, found in facts.marks.items() if mark not in HARMLESS]
    if facts.unread or wrong:
        return None, (*facts.unread, *wrong)[0]
    near = [one for one in known if one.architecture == declared]
    if not near:
        return None, f"no checkpoint of {declared or 'no declared class'} was run"
    if not facts.files.intersection(TOKENIZER):
        return None, "no tokenizer files"
    ours = layout(facts, "")
    reasons = []
    for theirs in near:
        reason = _differs(ours, theirs, facts)
        if not reason:
            return theirs, ""
        reasons.append(reason)
    return None, reasons[0]


def _differs(ours: Layout, theirs: Layout, facts: Facts) -> str:
    """How a checkpoint differs from one that loads, in what matters; empty if it does not."""
    if ours.model_type != theirs.model_type:
        return f"model_type {ours.model_type!r}, the one that ran had {theirs.model_type!r}"
    if ours.configs != theirs.configs:
        return f"sub-configs {ours.configs}, the one that ran had {theirs.configs}"
    if theirs.processor and not ours.processor:
        return "no processor files"
    if facts.config.get("quantization_config") or facts.config.get("compression_config"):
        return "quantized; none of those that ran was"
    kinds = {tensor.dtype for tensor in facts.tensors.values() if tensor}
    if odd := kinds - {"F32", "F16", "BF16", "I64"}:  # counters and positions are I64
        return f"tensors of dtype {', '.join(sorted(odd))}; none of those that ran had any"
    nested = lookup(facts.config, "text_config.tie_word_embeddings")
    tied = facts.config.get("tie_word_embeddings", nested)  # the outer one decides, by runs
    heads = {name for name in theirs.names if name.endswith(("lm_head.weight", "embed_out.weight"))}
    if tied is False and not heads and _GENERATES.search(ours.architecture):
        return "tie_word_embeddings is false, the one that ran had tied embeddings and no head"
    if tied is True and "embed_out.weight" in ours.names:
        return "tie_word_embeddings is true, the one that ran had a head of its own"
    may_lack = heads if tied is True else set()
    if lost := sorted(theirs.names.keys() - ours.names.keys() - may_lack):
        return f"no tensor {lost[0]}, which the one that ran had"
    if new := sorted(ours.names.keys() - theirs.names.keys()):
        return f"a tensor {new[0]}, which the one that ran did not have"
    if gaps := sorted(n for n, every in theirs.names.items() if every and not ours.names.get(n, 1)):
        return f"{gaps[0]} is not there for every index"
    lists = _lists(facts.tensors)
    modules = {_split(pattern)[0] for pattern in theirs.names if _split(pattern)[2].count(".") > 1}
    for head, indexes in lists.items():  # an nn.Sequential has members without tensors
        if head in modules and (lost_at := set(range(max(indexes))) - indexes):
            return f"no tensor {head}{min(lost_at)}"
    layers = lookup(facts.config, "text_config.num_hidden_layers")
    layers = layers if isinstance(layers, int) else facts.config.get("num_hidden_layers")
    lengths = {len(indexes) for indexes in lists.values()}
    if isinstance(layers, int) and lengths and layers not in lengths:
        return f"num_hidden_layers is {layers}, the tensors are of {sorted(lengths)}"
    return _misfit(facts)


def _misfit(facts: Facts) -> str:
    """A tensor of the text model whose shape is not what config.json says; empty if there is none.

    Families with sizes of their own by layer say so in keys that are not asked here, and are
    taken for a misfit: that costs a "loads", and a wrong one would cost more.
    """
    nested = facts.config.get("text_config")
    config = nested if isinstance(nested, dict) else facts.config
    sizes = {key: n for key, n in config.items() if type(n) is int}
    hidden = sizes.get("hidden_size", sizes.get("n_embd", 0))
    heads = sizes.get("num_attention_heads", sizes.get("n_head", 0))
    head = sizes.get("head_dim", hidden // heads if heads else 0)
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and len(set(map(str, kinds))) > 1:
        head = 0  # a kind of layers may have heads of its own
    embeddings = ("embed_tokens", "tok_embeddings", "word_embeddings", "embed_in", "wte")
    expected = {
        **{f"{name}.weight": (1, "hidden_size", hidden) for name in embeddings},
        "q_proj.weight": (0, "num_attention_heads", heads * head),
        "k_proj.weight": (0, "num_key_value_heads", sizes.get("num_key_value_heads", 0) * head),
        "mlp.gate_proj.weight": (0, "intermediate_size", sizes.get("intermediate_size", 0)),
    }
    for name, tensor in facts.tensors.items():
        if tensor is None or _TOWER.search(name):
            continue
        for end, (axis, key, size) in expected.items():
            known = size and f".{name}".endswith(f".{end}") and axis < len(tensor.shape)
            if known and tensor.shape[axis] != size:
                return f"{name} has shape {list(tensor.shape)}, which {key} does not lead to"
    return ""


def _configs(config: Mapping[str, Any]) -> dict[str, str]:
    return {
        key: str(value.get("model_type", ""))
        for key, value in sorted(config.items())
        if isinstance(value, dict) and key.endswith("_config")
        if key not in ("quantization_config", "compression_config")
    }


def _patterns(names: Iterable[str]) -> dict[str, bool]:
    """Each name with ``*`` for its indexes, and whether it is there for every first index of the
    list it is in.
    """
    lists: dict[str, set[str]] = defaultdict(set)
    found: dict[str, set[str]] = defaultdict(set)
    for name in names:
        head, index, _ = _split(name)
        lists[head].add(index)
        found[_INDEX.sub("*", name)].add(index)
    return {
        pattern: indexes == lists[_split(pattern)[0]] for pattern, indexes in sorted(found.items())
    }


def _split(name: str) -> tuple[str, str, str]:
    """What is before the first index, the index, what is behind; index "" where there is none."""
    match = _INDEX.search(name) or re.search(r"(?<=\.)\*(?=\.)", name)
    if match is None:
        return name, "", ""
    return name[: match.start()], match[0], name[match.end() :]


def _lists(names: Iterable[str]) -> dict[str, set[int]]:
    """The indexes of each list of modules, by what is before them."""
    lists: dict[str, set[int]] = defaultdict(set)
    for name in names:
        head, index, _ = _split(name)
        if index:
            lists[head].add(int(index))
    return lists
