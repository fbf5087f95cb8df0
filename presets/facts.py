"""Facts of a checkpoint: what its files say, without loading a weight.

What is read at most: 8 MiB of config.json and of the configs of tokenizer and image processor, the
last 64 bytes of tokenizer.json, 32 MiB of an index, and of safetensors headers 32 MiB each, 64 MiB
together. The worst that these can hold takes less than 1.5 GiB of memory. Nothing is unpickled, no
code of the checkpoint is imported, nothing is written.
"""

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from presets.errors import CheckpointError
from presets.header import LIMIT, HeaderError, Tensor, TooLargeError, read_header
from presets.schema import Mark
from presets.source import Folder, Source
from presets.tree import MISSING, lookup

INDEX = "model.safetensors.index.json"
OTHER_FORMATS = ("adapter_config.json", "params.json", "*.gguf")
"""Files of folders that are no checkpoints in the Hugging Face format and have no config.json."""
WRAPPERS = ("base_model.", "_orig_mod.", "module.", "_fsdp_wrapped_module.")
"""Of the names of tensors, by PEFT, torch.compile, DDP and FSDP."""
MAX_JSON = 8 * 2**20
MAX_INDEX = 32 * 2**20
MAX_HEADERS = 64 * 2**20
"""Of all safetensors files together."""
_PLAIN = re.compile(r"[^/\\\0]+\.safetensors")
_EMBEDDINGS = re.compile(
    r"(model\.|language_model\.|decoder\.|transformer\.|bert\.|roberta\.|gpt_neox\.|embeddings\.)*"
    r"(embed_tokens|tok_embeddings|wte|word_embeddings|embed_in)\.weight"
)
_QUANTIZED = re.compile(
    r"\.(qweight|weight_packed|weight_scale|weight_scale_inv|scales|absmax|quant_map|"
    r"weight\.absmax|weight\.quant_map|input_scale)$"
)

_LORA = re.compile(r"\.(lora_[AB]|lora_embedding_[AB]|base_layer)\.")


class _Index(msgspec.Struct):
    weight_map: dict[str, str]


class Facts(msgspec.Struct, frozen=True):
    """What the conditions of presets are asked about."""

    architectures: tuple[str, ...]
    """As declared in config.json; empty when null or absent."""
    model_type: str
    """As declared in config.json; empty when absent."""
    config: dict[str, Any]
    """config.json, decoded; empty where another format has none."""
    tokenizer: dict[str, Any]
    """tokenizer_config.json, decoded; empty where there is none, or it is no JSON object."""
    image_processor: str
    """``image_processor_type`` of preprocessor_config.json; empty where there is none."""
    tensors: dict[str, Tensor | None]
    """All tensors of the safetensors files at the top of the folder, by name; None for one that
    only the index names, because its shard is missing or damaged."""
    files: frozenset[str]
    """Names of the regular files at the top of the folder."""
    marks: dict[Mark, str]
    """What is wrong at first sight, each with what was found."""
    unread: tuple[str, ...] = ()
    """Why not everything is known: weight files that are damaged, unreadable or too large to read.
    Then nothing is taken for absent."""


def read_facts(source: Source | Path) -> Facts:
    """Read the facts of a checkpoint, in a local folder or wherever its files are.

    CheckpointError names the file without which nothing can be said: config.json, or an index, that
    is missing, unreadable or malformed.
    """
    source = Folder(source) if isinstance(source, Path) else source
    files = frozenset(source.files)
    no_config = "config.json" not in files and any(fnmatch.filter(files, p) for p in OTHER_FORMATS)
    config = {} if no_config else json_object(source, "config.json", MAX_JSON)
    architectures = config.get("architectures") or []
    if not isinstance(architectures, list) or not all(map(_is_name, architectures)):
        raise CheckpointError(
            f"{source.name}/config.json: architectures: expected a list of strings or null, and "
            "each a class name"
        )
    model_type = config.get("model_type") or ""
    if not _is_name(model_type):
        raise CheckpointError(f"{source.name}/config.json: model_type: expected a name or null")
    marks: dict[Mark, str] = {}
    unread: list[str] = []
    tensors = _tensors(source, marks, unread)
    tokenizer, processor = {}, {}
    if "tokenizer_config.json" in files:
        try:
            tokenizer = json_object(source, "tokenizer_config.json", MAX_JSON)
        except CheckpointError as error:
            marks["damaged-tokenizer"] = str(error)
    if "preprocessor_config.json" in files:
        try:
            processor = json_object(source, "preprocessor_config.json", MAX_JSON)
        except CheckpointError as error:
            marks["unreadable-file"] = str(error)
    # A repository's files are whole, and to look at one more would be a request.
    if "tokenizer.json" in files and isinstance(source, Folder) and not _whole(source):
        marks.setdefault("damaged-tokenizer", f"{source.name}/tokenizer.json: it ends early")
    facts = Facts(
        architectures=tuple(architectures),
        model_type=model_type,
        config=config,
        tokenizer=tokenizer,
        image_processor=str(processor.get("image_processor_type") or ""),
        tensors=tensors,
        files=files,
        marks=marks,
        unread=tuple(unread),
    )
    marks.update(_found(facts, source.odd))
    return facts


def _whole(folder: Folder) -> bool:
    """Whether tokenizer.json, of any size, ends as a JSON object does: a broken copy does not."""
    size = folder.files["tokenizer.json"]
    return folder.read("tokenizer.json", max(0, size - 64), min(64, size)).rstrip().endswith(b"}")


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 200 and value.isprintable()


def _tensors(source: Source, marks: dict[Mark, str], unread: list[str]) -> dict[str, Tensor | None]:
    tensors: dict[str, Tensor | None] = {}
    by_shard: dict[str, dict[str, Tensor]] = {}
    left = MAX_HEADERS

    def read(shard: str, start: int, length: int) -> bytes:
        nonlocal left
        left -= length
        return source.read(shard, start, length)

    for shard in source.files:
        if not shard.endswith(".safetensors"):
            continue
        try:
            found = read_header(partial(read, shard), source.files[shard], min(LIMIT, left))
        except TooLargeError as error:
            unread.append(f"{shard}: {error}")
        except HeaderError as error:
            marks.setdefault("damaged-weights", f"{shard}: {error}")
            unread.append(f"{shard}: {error}")
        except CheckpointError as error:
            marks.setdefault("unreadable-file", str(error))
            unread.append(str(error))
        else:
            by_shard[shard] = found
            tensors.update(found)
            lora = (name for name in found if _LORA.search(name))
            if shard != "adapter_model.safetensors" and (name := next(lora, "")):
                marks.setdefault("unmerged-lora", f"{name} is in {shard}")
    if INDEX not in source.files:
        return tensors
    try:
        index = msgspec.json.decode(_read(source, INDEX, MAX_INDEX), type=_Index)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CheckpointError(f"{source.name}/{INDEX}: {error}") from None
    owner: dict[str, str] = {}
    for shard in by_shard.keys() & set(index.weight_map.values()):
        for name in owner.keys() & by_shard[shard].keys():
            both = " and in ".join(sorted((owner[name], shard)))
            marks.setdefault("duplicate-tensors", f"{name} is in {both}")
        owner |= dict.fromkeys(by_shard[shard], shard)
    for name, shard in index.weight_map.items():
        if shard in by_shard:
            if name not in by_shard[shard] and name not in tensors:
                marks.setdefault("index-mismatch", f"{name} is not in {shard}")
        elif not _PLAIN.fullmatch(shard):
            marks.setdefault("unsafe-index", f"{name!r} in {shard!r}")
        elif shard not in source.files:
            marks.setdefault("missing-shards", f"{shard}, which has {name}")
        tensors.setdefault(name, None)
    return tensors


def _found(facts: Facts, odd: Mapping[str, str]) -> Iterator[tuple[Mark, str]]:
    """What the rest of the facts shows, as (mark, what was found)."""
    for name, why in odd.items():
        if name.endswith((".safetensors", ".json")):
            yield "unreadable-file", f"{name}: {why}"
    pickles = fnmatch.filter(facts.files, "*.bin") + fnmatch.filter(facts.files, "*.pt*")
    nothing = not (facts.tensors or facts.unread or facts.marks)
    if nothing and not fnmatch.filter(facts.files, "*.gguf"):
        yield ("pickle-only", pickles[0]) if pickles else ("no-weights", "no *.safetensors")
    for name, tensor in facts.tensors.items():
        if tensor and 0 in tensor.shape:
            yield "empty-tensors", f"{name} has shape {list(tensor.shape)}"
            break
    for prefix in WRAPPERS:
        if facts.tensors and all(name.startswith(prefix) for name in facts.tensors):
            yield "wrapper-prefix", f"every tensor name starts with {prefix}"
    expected = vocab_size(facts.config)
    for name, tensor in facts.tensors.items():
        rows = tensor.shape[0] if tensor and tensor.shape else 0
        if rows and expected and _EMBEDDINGS.fullmatch(name) and rows != expected:
            yield "vocab-mismatch", f"{name} has {rows} rows, vocab_size is {expected}"
            break
    quantized = any(_QUANTIZED.search(name) for name in facts.tensors)
    declared = any(
        isinstance(table, dict) and isinstance(table.get("quantization_config"), dict)
        for table in (facts.config, facts.config.get("text_config"))
    )
    if quantized and not declared and "hf_quant_config.json" not in facts.files:
        yield "quantized-undeclared", "quantized tensors, and no quantization_config"
    if isinstance(facts.tokenizer.get("extra_special_tokens"), list):
        yield "extra-special-tokens-list", "extra_special_tokens of tokenizer_config.json is a list"


def vocab_size(config: Mapping[str, Any]) -> int:
    """The rows that the embedding must have, as config.json says; 0 where it does not."""
    for key in ("text_config.vocab_size", "vocab_size"):
        value = lookup(config, key)
        if value is not MISSING and isinstance(value, int):
            return value
    return 0


def json_object(source: Source, name: str, limit: int) -> dict[str, Any]:
    """A JSON object of at most ``limit`` bytes; CheckpointError says why it is none."""
    where = f"{source.name}/{name}"
    try:
        value = json.loads(_read(source, name, limit).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{where}: a {type(value).__name__}, expected a JSON object")
    return value


def _read(source: Source, name: str, limit: int) -> bytes:
    where = f"{source.name}/{name}"
    if name in source.odd:
        raise CheckpointError(f"{where}: {source.odd[name]}")
    if name not in source.files:
        raise CheckpointError(f"{where}: No such file or directory")
    if source.files[name] > limit:
        raise CheckpointError(f"{where}: {source.files[name]} bytes, at most {limit} are read")
    return source.read(name, 0, source.files[name])
