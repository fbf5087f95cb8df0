"""Defects: what goes wrong with a checkpoint on its way to the engine, one function each.

A defect is ``name`` or ``name=argument`` and changes a ``Draft``: the decoded config, the tensors
(read when a defect asks for them) and the files. Defects compose in the order given and apply
to tiny and to downloaded checkpoints alike. A new one is a decorated function here.
"""

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UnknownDefectError

if TYPE_CHECKING:
    import torch

WEIGHTS = "model.safetensors"
PROCESSOR_FILES = (
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
)


class Draft:
    """A copy of a checkpoint under change; ``save`` writes what was touched."""

    def __init__(self, source: Path, folder: Path) -> None:
        shutil.copytree(source, folder, copy_function=_link)
        self.folder = folder
        self.config: dict[str, Any] = json.loads((folder / "config.json").read_text())

    @cached_property
    def tensors(self) -> "dict[str, torch.Tensor]":
        from safetensors.torch import load_file

        shards = sorted(self.folder.glob("*.safetensors"))
        return {name: t for shard in shards for name, t in load_file(shard).items()}

    def save(self) -> None:
        path = self.folder / "config.json"
        if path.exists():  # a defect may have dropped it
            path.unlink()
            path.write_text(json.dumps(self.config, indent=2))
        if "tensors" in self.__dict__:
            from safetensors.torch import save_file

            for path in (*self.folder.glob("*.safetensors"), *self.folder.glob("*.index.json")):
                path.unlink()
            save_file(self.tensors, self.folder / WEIGHTS, metadata={"format": "pt"})


Defect = Callable[[Draft, str], None]
DEFECTS: dict[str, Defect] = {}


def apply(source: Path, out: Path, defects: list[str]) -> None:
    """Copy a healthy checkpoint to ``out`` with the defects applied, in order.

    UnknownDefectError names a defect that does not exist, or that finds nothing to change.
    """
    draft = Draft(source, out)
    for defect in defects:
        name, _, argument = defect.partition("=")
        if name not in DEFECTS:
            raise UnknownDefectError(
                f"no defect {name!r}; known are {', '.join(sorted(DEFECTS))}. "
                "A new one is a function in harness/tiny/defects.py"
            )
        DEFECTS[name](draft, argument)
    draft.save()


def _defect(name: str) -> Callable[[Defect], Defect]:
    def register(function: Defect) -> Defect:
        DEFECTS[name] = function
        return function

    return register


@_defect("drop-processor")
def _drop_processor(draft: Draft, _: str) -> None:
    """The processor files were not saved beside the model."""
    found = [draft.folder / name for name in PROCESSOR_FILES if (draft.folder / name).exists()]
    for path in _some("drop-processor", found, "there is no processor file"):
        path.unlink()


@_defect("drop-towers")
def _drop_towers(draft: Draft, _: str) -> None:
    """Only the weights of the text model were saved."""
    text = "language_model." if any("language_model." in n for n in draft.tensors) else "model."
    keep = [n for n in draft.tensors if text in n or n.startswith("lm_head.")]
    dropped = _some("drop-towers", sorted(draft.tensors.keys() - set(keep)), "there is no tower")
    for name in dropped:
        del draft.tensors[name]


@_defect("strip-language-prefix")
def _strip_language_prefix(draft: Draft, _: str) -> None:
    """The text weights were saved under the text class's own names, ``model.*``."""
    old = "model.language_model."
    names = [n for n in draft.tensors if n.startswith(old)]
    for name in _some("strip-language-prefix", names, f"no tensor starts with {old}"):
        draft.tensors["model." + name.removeprefix(old)] = draft.tensors.pop(name)


@_defect("flat-config")
def _flat_config(draft: Draft, _: str) -> None:
    """config.json is the text model's, the declared class is still the multimodal one."""
    if "text_config" not in draft.config:
        raise UnknownDefectError("flat-config: config.json has no text_config")
    outer = draft.config
    draft.config = dict(outer["text_config"])
    draft.config["architectures"] = outer["architectures"]


@_defect("null-config")
def _null_config(draft: Draft, argument: str) -> None:
    """A sub-config is null, as in ``null-config=vision_config``."""
    if draft.config.get(argument) is None:
        raise UnknownDefectError(f"null-config={argument}: config.json has no {argument}")
    draft.config[argument] = None


@_defect("architecture")
def _architecture(draft: Draft, argument: str) -> None:
    """Another class is declared; ``architecture=`` declares none."""
    draft.config["architectures"] = [argument] if argument else None


@_defect("drop-tensor")
def _drop_tensor(draft: Draft, argument: str) -> None:
    """Every tensor whose name holds the argument is lost."""
    for name in _some("drop-tensor", [n for n in draft.tensors if argument in n], argument):
        del draft.tensors[name]


@_defect("rename")
def _rename(draft: Draft, argument: str) -> None:
    """Tensors have another prefix, as in ``rename=vision_tower.=>model.vision_tower.``; without an
    old one, ``rename==>bert.``, every name gets the new one.
    """
    old, _, new = argument.partition("=>")
    found = [name for name in draft.tensors if name.startswith(old)]
    renamed = {name: new + name.removeprefix(old) for name in _some("rename", found, argument)}
    tensors = {renamed.get(name, name): tensor for name, tensor in draft.tensors.items()}
    draft.tensors.clear()
    draft.tensors.update(tensors)


@_defect("set-key")
def _set_key(draft: Draft, argument: str) -> None:
    """A key of config.json holds something else, as in ``set-key=text_config.vocab_size=7`` (the
    value is JSON), or is lost, where there is no value: ``set-key=tie_word_embeddings``.
    """
    path, given, value = argument.partition("=")
    *parents, key = path.split(".")
    table: Any = draft.config
    for parent in parents:
        table = table.get(parent)
        if not isinstance(table, dict):
            raise UnknownDefectError(f"set-key={argument}: config.json has no {parent}")
    if key not in table and not given:
        raise UnknownDefectError(f"set-key={argument}: config.json has no {path}")
    if given:
        table[key] = json.loads(value)
    else:
        del table[key]


@_defect("write-file")
def _write_file(draft: Draft, argument: str) -> None:
    """A file is there that should not be, or holds something else: ``write-file=NAME=TEXT``."""
    name, _, text = argument.partition("=")
    (draft.folder / name).unlink(missing_ok=True)  # it may be a link to the healthy one
    (draft.folder / name).write_text(text)


@_defect("drop-files")
def _drop_files(draft: Draft, pattern: str) -> None:
    """Files were not saved, as in ``drop-files=tokenizer*``."""
    for path in _some("drop-files", list(draft.folder.glob(pattern)), f"no file is {pattern}"):
        path.unlink()


_MISTRAL_NAMES = (
    ("model.embed_tokens.", "tok_embeddings."),
    ("lm_head.", "output."),
    ("model.", ""),
    ("post_attention_layernorm.", "ffn_norm."),
    ("input_layernorm.", "attention_norm."),
    ("self_attn.", "attention."),
    ("mlp.gate_proj.", "feed_forward.w1."),
    ("mlp.down_proj.", "feed_forward.w2."),
    ("mlp.up_proj.", "feed_forward.w3."),
    *((f"{name}_proj.", f"w{name}.") for name in "qkvo"),
)


@_defect("stale-consolidated")
def _stale_consolidated(draft: Draft, _: str) -> None:
    """Weights of another model, such as the one that was trained on, lie beside the right ones in
    Mistral's own format: ``consolidated.safetensors``.
    """
    from safetensors.torch import load_file, save_file

    stale = {}
    for name, tensor in load_file(draft.folder / WEIGHTS).items():
        renamed = name
        for old, new in _MISTRAL_NAMES:
            renamed = renamed.replace(old, new)
        stale[renamed] = tensor.flip(0).contiguous()
    save_file(stale, draft.folder / "consolidated.safetensors", metadata={"format": "pt"})


@_defect("add-tensor")
def _add_tensor(draft: Draft, argument: str) -> None:
    """A tensor of random values: ``add-tensor=linear.weight=32x64``, or in a file of its own, which
    it is added to: ``add-tensor=1_Dense/model.safetensors:linear.weight=32x64``.
    """
    import torch

    where, _, shape = argument.rpartition("=")
    file, _, name = where.rpartition(":")
    seed = torch.Generator().manual_seed(zlib.crc32(where.encode()))
    sizes = [int(size) for size in shape.split("x")]
    tensor = torch.randn(sizes, generator=seed) / sizes[-1] ** 0.5
    if not file:
        draft.tensors[name] = tensor
        return
    from safetensors.torch import load_file, save_file

    path = draft.folder / file
    path.parent.mkdir(exist_ok=True)
    pickled = path.suffix in (".pt", ".bin")
    load = torch.load if pickled else load_file
    tensors = {**(load(path) if path.exists() else {}), name: tensor}
    path.unlink(missing_ok=True)  # it may be a link to the healthy one
    (torch.save if pickled else save_file)(tensors, path)


@_defect("shift-tensor")
def _shift_tensor(draft: Draft, argument: str) -> None:
    """A number is added to every value of a tensor, as in ``shift-tensor=classifier.bias=4.5``."""
    name, _, number = argument.partition("=")
    for found in _some("shift-tensor", [n for n in draft.tensors if n == name], argument):
        draft.tensors[found] = draft.tensors[found] + float(number)


@_defect("truncate")
def _truncate(draft: Draft, name: str) -> None:
    """A file ends early, as a copy that was broken off: ``truncate=model.safetensors``."""
    path = draft.folder / name
    if not path.exists():
        raise UnknownDefectError(f"truncate={name}: there is no such file")
    content = path.read_bytes()
    path.unlink()  # it may be a link to the healthy one
    path.write_bytes(content[: len(content) * 9 // 10])


@_defect("empty-tensor")
def _empty_tensor(draft: Draft, argument: str) -> None:
    """Every tensor whose name holds the argument was saved without its values, as shape [0]."""
    for name in _some("empty-tensor", [n for n in draft.tensors if argument in n], argument):
        draft.tensors[name] = draft.tensors[name].flatten()[:0].clone()


@_defect("lose-shard")
def _lose_shard(draft: Draft, _: str) -> None:
    """The weights were saved in two shards with an index, and the second one is missing."""
    from safetensors.torch import save_file

    names = sorted(draft.tensors)
    kept = {name: draft.tensors[name] for name in names[: len(names) // 2]}
    shards = [f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    weight_map = {name: shards[name not in kept] for name in names}
    del draft.tensors  # none of them is saved again
    (draft.folder / WEIGHTS).unlink()
    save_file(kept, draft.folder / shards[0], metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": weight_map}
    (draft.folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


@_defect("stale-shard")
def _stale_shard(draft: Draft, argument: str) -> None:
    """Two shards with an index; the second still has tensors of an earlier save, those whose name
    holds the argument, which the index says are in the first: ``stale-shard=norm``.
    """
    from safetensors.torch import save_file

    names = sorted(draft.tensors)
    found = [n for n in names if argument in n]
    stale = {n: draft.tensors[n] + 1 for n in _some("stale-shard", found, argument)}
    last = {n: draft.tensors[n] for n in names if n not in stale and "layers.1." in n}
    first = {n: draft.tensors[n] for n in names if n not in last}
    shards = [f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    del draft.tensors  # none of them is saved again
    (draft.folder / WEIGHTS).unlink()
    for name, tensors in zip(shards, (first, {**last, **stale}), strict=True):
        save_file(tensors, draft.folder / name, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: shards[name in last] for name in names}}
    (draft.folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


@_defect("unmerged-lora")
def _unmerged_lora(draft: Draft, _: str) -> None:
    """A PEFT model was saved as a whole: adapters beside the layers that they belong to."""
    import torch

    found = [name for name in draft.tensors if name.endswith("q_proj.weight")]
    for name in _some("unmerged-lora", found, "there is no q_proj"):
        module, tensor = name.removesuffix(".weight"), draft.tensors.pop(name)
        draft.tensors[f"{module}.base_layer.weight"] = tensor
        draft.tensors[f"{module}.lora_A.default.weight"] = torch.zeros(4, tensor.shape[1])
        draft.tensors[f"{module}.lora_B.default.weight"] = torch.zeros(tensor.shape[0], 4)


@_defect("adapter-only")
def _adapter_only(draft: Draft, _: str) -> None:
    """Only a LoRA adapter was saved, as PEFT saves it, with the tokenizer."""
    import torch
    from safetensors.torch import save_file

    pairs = {}
    for name, tensor in draft.tensors.items():
        if name.endswith("q_proj.weight"):
            module = f"base_model.model.{name.removesuffix('.weight')}"
            pairs[f"{module}.lora_A.weight"] = torch.zeros(4, tensor.shape[1])
            pairs[f"{module}.lora_B.weight"] = torch.zeros(tensor.shape[0], 4)
    del draft.tensors  # none of them is saved
    for path in (*draft.folder.glob("*.safetensors"), *draft.folder.glob("*config.json")):
        if path.name != "tokenizer_config.json":
            path.unlink()
    save_file(pairs, draft.folder / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"]}
    (draft.folder / "adapter_config.json").write_text(json.dumps(config))


def _some(defect: str, found: list[Any], otherwise: str) -> Iterator[Any]:
    if not found:
        raise UnknownDefectError(f"{defect}: nothing to change: {otherwise}")
    return iter(found)


def _link(source: str, target: str) -> None:
    """Hard-link where the file system allows it: weights are large and never written in place."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copyfile(source, target)
