"""Facts of a checkpoint: what its files say, without loading a weight."""

import fnmatch
import json
from pathlib import Path
from typing import Any

import msgspec

from presets.errors import CheckpointError

INDEX = "model.safetensors.index.json"
OTHER_FORMATS = ("adapter_config.json", "params.json", "*.gguf")
"""Files of folders that are no checkpoints in the Hugging Face format and have no config.json."""
MAX_HEADER = 100_000_000
"""Bytes; the limit of the safetensors library."""


class Facts(msgspec.Struct, frozen=True):
    """What the conditions of presets are asked about."""

    architectures: tuple[str, ...]
    """As declared in config.json; empty when null or absent."""
    model_type: str
    """As declared in config.json; empty when absent."""
    config: dict[str, Any]
    """config.json, decoded; empty where another format has none."""
    tensors: frozenset[str]
    """Names of all tensors in the safetensors files at the top of the folder and in the index,
    so a shard that is not there yet does not make its tensors absent."""
    files: frozenset[str]
    """Names of the files at the top of the folder."""


def read_facts(folder: Path) -> Facts:
    """Read the facts of a local checkpoint.

    Opens config.json and the headers of ``*.safetensors``; CheckpointError names the file that
    is missing, unreadable or malformed.
    """
    try:
        files = frozenset(p.name for p in folder.iterdir() if p.is_file())
    except OSError as error:
        raise CheckpointError(f"{folder}: {error.strerror or error}") from None
    path = folder / "config.json"
    no_config = path.name not in files and any(fnmatch.filter(files, p) for p in OTHER_FORMATS)
    config = {} if no_config else _json_object(path)
    architectures = config.get("architectures") or []
    if not isinstance(architectures, list) or not all(isinstance(a, str) for a in architectures):
        raise CheckpointError(f"{path}: architectures: expected a list of strings or null")
    shards = sorted(name for name in files if name.endswith(".safetensors"))
    tensors = frozenset(t for name in shards for t in _tensor_names(folder / name))
    if INDEX in files:
        weight_map = _json_object(folder / INDEX).get("weight_map")
        if not isinstance(weight_map, dict):
            raise CheckpointError(f"{folder / INDEX}: weight_map: expected a JSON object")
        tensors |= weight_map.keys()
    return Facts(
        architectures=tuple(architectures),
        model_type=str(config.get("model_type") or ""),
        config=config,
        tensors=tensors,
        files=files,
    )


def _json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: a {type(value).__name__}, expected a JSON object")
    return value


def _tensor_names(path: Path) -> list[str]:
    """Names in a safetensors header: 8 bytes of length, then a JSON object.

    Read here because the safetensors library opens a file only where numpy or torch is installed,
    and the base install has neither.
    """
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size > min(MAX_HEADER, path.stat().st_size - 8):
                raise CheckpointError(f"{path}: no safetensors file: a header of {size} bytes")
            header = msgspec.json.decode(file.read(size), type=dict[str, msgspec.Raw])
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise CheckpointError(f"{path}: no safetensors header: {error}") from None
    return [name for name in header if name != "__metadata__"]
