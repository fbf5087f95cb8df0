"""Build a checkpoint once, deterministically, into a cache keyed by what made it."""

import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.errors import UnknownFamilyError
from harness.tiny import defects as _defects
from harness.tiny import smollm2
from harness.tiny.families import FAMILIES
from harness.tiny.family import Family
from harness.tiny.tokenizer import token_ids, tokenizer

_SOURCES = tuple(sorted(path.name for path in Path(__file__).parent.glob("*.py")))


def cache_root() -> Path:
    """Where built checkpoints live: ``$VLLM_PRESETS_CACHE``, else ``~/.cache/vllm-presets``."""
    base = os.environ.get("VLLM_PRESETS_CACHE") or Path.home() / ".cache" / "vllm-presets"
    return Path(base)


def build(name: str, defects: list[str]) -> Path:
    """The folder of a checkpoint: a family's healthy one with the defects applied.

    ``name`` is a family of ``FAMILIES`` or "smollm2-135m". The folder is cached under a key
    over the builders' source, the installed transformers and the arguments; do not write to it.
    """
    if name not in FAMILIES and name != smollm2.NAME:
        known = ", ".join([*FAMILIES, smollm2.NAME])
        raise UnknownFamilyError(
            f"no tiny checkpoint {name!r}; known are {known}. "
            "A new family is an entry of FAMILIES in the module of its kind in harness/tiny: "
            "causal.py, qwen_vl.py, multimodal.py or encoders.py"
        )
    if defects:
        return damage(build(name, []), defects)
    return _cached(
        _key(name, []),
        lambda out: (
            smollm2.build(out) if name == smollm2.NAME else _build_family(FAMILIES[name], out)
        ),
    )


def damage(source: Path, defects: list[str]) -> Path:
    """The folder of a copy of ``source`` with the defects applied; cached like ``build``.

    ``source`` is a folder that never changes under its name: a cached build or a Hub snapshot.
    UnknownDefectError names a defect that does not exist or does not fit.
    """
    return _cached(_key(str(source), defects), lambda out: _defects.apply(source, out, defects))


def _cached(key: str, make: Callable[[Path], None]) -> Path:
    out = cache_root() / "checkpoints" / key
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".tmp-") as scratch:
            draft = Path(scratch) / "checkpoint"
            make(draft)
            _publish(draft, out)
    return out


def fingerprint(folder: Path) -> str:
    """16 hex digits over every file's name and content."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        total.update(path.relative_to(folder).as_posix().encode() + b"\0")
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:16]


def builder_digest() -> str:
    """16 hex digits over the source of the builders; part of a finished cell's key."""
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / s).read_bytes() for s in _SOURCES)).hexdigest()[:16]


def _key(name: str, defects: list[str]) -> str:
    import transformers

    parts = [builder_digest(), transformers.__version__, name, *defects]
    return f"{Path(name).name}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:12]}"


def _publish(draft: Path, out: Path) -> None:
    try:
        draft.rename(out)
    except OSError:
        if not out.exists():  # another process built the same thing first: theirs is as good
            raise
        shutil.rmtree(draft)


def _build_family(family: Family, out: Path) -> None:
    import transformers

    if family.post:
        with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
            saved = Path(scratch) / "saved"
            _build_family(replace(family, post=()), saved)
            _defects.apply(saved, out, list(family.post))
        return
    ids = token_ids(dict(family.special))
    model_class = getattr(transformers, family.architecture)
    named = {key: ids[token] for key, token in family.token_ids.items()}
    model = model_class(model_class.config_class(**family.config, **named))
    _randomize(model)
    model.save_pretrained(out)
    config = json.loads((out / "config.json").read_text())
    config["architectures"] = [family.architecture]  # 4.57 writes it into text_config alone
    (out / "config.json").write_text(json.dumps(config, indent=2))
    text = tokenizer(dict(family.special))
    text.save_pretrained(out)
    if family.tokenizer:
        text = getattr(transformers, family.tokenizer).from_pretrained(out)
        text.save_pretrained(out)
    if family.processor:
        parts = {
            argument: getattr(transformers, kind)(**options)
            for argument, (kind, options) in family.processor_parts.items()
        }
        getattr(transformers, family.processor)(tokenizer=text, **parts).save_pretrained(out)
    for path, content in family.files.items():
        (out / path).parent.mkdir(exist_ok=True)
        (out / path).write_text(json.dumps(content))


def _randomize(model: object) -> None:
    """Give every saved tensor random values, norms and scalars too.

    Then a single tensor that is not loaded changes the output. Vectors get noise of size 1: with
    mild ones and tied embeddings the greedy continuation would just repeat the prompt's last
    token. Seeded by the tensor's name, so the values do not depend on the order in which a
    transformers version lists them.
    """
    import torch

    assert isinstance(model, torch.nn.Module)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not tensor.is_floating_point() or not torch.isfinite(tensor).all():
                continue
            seed = torch.Generator().manual_seed(zlib.crc32(name.encode()))
            noise = torch.randn(tensor.shape, generator=seed, dtype=torch.float32)
            if tensor.ndim < 2:
                tensor.add_(noise.to(tensor.dtype))
            else:
                tensor.copy_(1.5 * noise / tensor[0].numel() ** 0.5)
