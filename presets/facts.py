"""Facts of a checkpoint: what its files say, without loading a weight."""

import json
from pathlib import Path
from typing import Any

import msgspec
from safetensors import SafetensorError, safe_open

from presets.errors import CheckpointError


class Facts(msgspec.Struct, frozen=True):
    """What the conditions of presets are asked about."""

    architectures: tuple[str, ...]
    """As declared in config.json; empty when null or absent."""
    model_type: str
    """As declared in config.json; empty when absent."""
    config: dict[str, Any]
    """config.json, decoded."""
    tensors: frozenset[str]
    """Names of all tensors in the safetensors files at the top of the folder."""
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
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise CheckpointError(f"{path}: not JSON: {error}") from None
    if not isinstance(config, dict):
        raise CheckpointError(f"{path}: a {type(config).__name__}, expected a JSON object")
    architectures = config.get("architectures") or []
    if not isinstance(architectures, list) or not all(isinstance(a, str) for a in architectures):
        raise CheckpointError(f"{path}: architectures: expected a list of strings or null")
    names: set[str] = set()
    for name in sorted(files):
        if name.endswith(".safetensors"):
            try:
                with safe_open(folder / name, framework="np") as tensors:
                    names.update(tensors.keys())
            except (OSError, SafetensorError) as error:
                raise CheckpointError(f"{folder / name}: {error}") from None
    return Facts(
        architectures=tuple(architectures),
        model_type=str(config.get("model_type") or ""),
        config=config,
        tensors=frozenset(names),
        files=files,
    )
