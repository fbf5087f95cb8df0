"""Facts, conditions and the check of a local checkpoint, without an engine."""

import json
import struct

import pytest

import presets
from presets.facts import read_facts
from presets.registry import engine_versions, load_all
from presets.schema import Condition
from presets.when import _holds

GEMMA4 = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "model_type": "gemma4",
    "text_config": {},
    "vision_config": {},
}
TEXT = "model.language_model.norm.weight"
VISION = "model.vision_tower.norm.weight"


def safetensors_file(path, names):
    """A file of one-byte tensors, without torch or numpy."""
    header = {
        name: {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]}
        for i, name in enumerate(names)
    }
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(len(names)))


@pytest.fixture
def checkpoint(tmp_path):
    def make(config, tensors=(TEXT, VISION), files=("processor_config.json",)):
        (tmp_path / "config.json").write_text(json.dumps(config))
        safetensors_file(tmp_path / "model.safetensors", tensors)
        for name in ("tokenizer.json", *files):
            (tmp_path / name).write_text("{}")
        return tmp_path

    return make


def advised(folder, vllm="0.32.0"):
    return {a.preset for a in presets.check(folder, vllm).advice}


def test_a_healthy_checkpoint_gets_no_advice(checkpoint):
    assert advised(checkpoint(GEMMA4)) == set()


def test_text_weights_only(checkpoint):
    folder = checkpoint(GEMMA4, tensors=[TEXT])
    assert advised(folder) == {"gemma4-text", "multimodal-text-only"}
    assert advised(folder, "0.18.0") == {"multimodal-text-only"}


def test_a_null_vision_config_is_for_the_text_class_alone(checkpoint):
    assert advised(checkpoint({**GEMMA4, "vision_config": None}, [TEXT])) == {"gemma4-text"}


def test_no_processor_files(checkpoint):
    assert "gemma4-text" in advised(checkpoint(GEMMA4, files=[]))


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [([TEXT, "model.vision_embedder.x"], set()), ([TEXT], {"gemma4-text"})],
)
def test_the_full_unified_checkpoint_is_left_alone(checkpoint, tensors, expected):
    config = {
        **GEMMA4,
        "model_type": "gemma4_unified",
        "architectures": ["Gemma4UnifiedForConditionalGeneration"],
    }
    assert advised(checkpoint(config, tensors, files=[])) == expected


def test_every_advice_is_what_get_returns(checkpoint):
    (advice, _) = presets.check(checkpoint(GEMMA4, tensors=[TEXT]), "0.32.0").advice
    assert advice.engine_kwargs == dict(presets.get("gemma4-text", "0.32.0"))
    assert advice.reason


def test_no_tensor_names_are_no_proof_that_a_tensor_is_absent(checkpoint):
    folder = checkpoint(GEMMA4, tensors=[TEXT])
    index = {"weight_map": {TEXT: "model.safetensors", VISION: "not-there-yet.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert advised(folder) == set()
    for path in folder.glob("*.safetensors*"):
        path.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")
    assert advised(folder) == set()


FACTS = {
    "architectures": ["A"],
    "model_type": ["m"],
    "configs": ["text_config"],
    "null_configs": ["vision_config", "text_config.architectures"],
    "values": {"text_config.layers": [2, 4], "tied": [True]},
    "tensors": ["model."],
    "no_tensors": ["visual."],
    "files": ["config.json", "model*.safetensors"],
    "no_files": ["processor_*.json"],
    "vllm": ">=0.20",
}
HOLDS = {
    "architectures": ["A"],
    "model_type": "m",
    "text_config": {"layers": 4, "architectures": None},
    "vision_config": None,
    "tied": True,
}
SPOILERS = {
    "architectures": ({"architectures": ["B"]}, {}),
    "model_type": ({"model_type": "n"}, {}),
    "configs": ({"text_config": None}, {}),
    "null_configs": ({"text_config": {"layers": 4, "architectures": ["B"]}}, {}),
    "values": ({"text_config": {"layers": 3}}, {}),
    "files": ({}, {"weights": "other.safetensors"}),
    "tensors": ({}, {"tensors": ["lm_head"]}),
    "no_tensors": ({}, {"tensors": ["model.x", "visual.x"]}),
    "no_files": ({}, {"files": ["processor_config.json"]}),
}


@pytest.mark.parametrize("fact", FACTS)
def test_every_fact_of_a_condition_is_asked(checkpoint, fact):
    condition = Condition(why="w", **{fact: FACTS[fact]})
    healthy = read_facts(checkpoint(HOLDS, ["model.x"], []))
    assert _holds(condition, healthy, "0.32.0")
    if fact == "vllm":
        assert not _holds(condition, healthy, "0.19.1")
        return
    config, rest = SPOILERS[fact]
    spoilt = {"tensors": ["model.x"], "files": [], **rest}
    folder = checkpoint({**HOLDS, **config}, spoilt["tensors"], spoilt["files"])
    if "weights" in spoilt:
        (folder / "model.safetensors").rename(folder / spoilt["weights"])
    assert not _holds(condition, read_facts(folder), "0.32.0")


def test_every_fact_of_the_vocabulary_is_covered_here():
    assert {f for f in Condition.__struct_fields__ if f != "why"} == FACTS.keys()


def test_no_architecture_declared_is_a_fact(checkpoint):
    none = Condition(why="w", architectures=[""])
    assert _holds(none, read_facts(checkpoint({"architectures": None})), "0.32.0")
    assert not _holds(none, read_facts(checkpoint({"architectures": ["A"]})), "0.32.0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "config.json"),
        ("{", "not JSON"),
        ("[]", "a list, expected a JSON object"),
        ("[" * 100_000, "not JSON"),
        ('{"architectures": "A"}', "expected a list of strings"),
    ],
)
def test_a_config_that_cannot_be_used_is_named(tmp_path, text, said):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(presets.CheckpointError, match=said):
        presets.check(tmp_path)


def test_a_folder_in_another_format_needs_no_config(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    facts = read_facts(tmp_path)
    assert (facts.config, facts.architectures, facts.model_type) == ({}, (), "")


@pytest.mark.parametrize("index", ["[]", "{}", '{"weight_map": []}', "{"])
def test_a_damaged_index_is_named(checkpoint, index):
    folder = checkpoint(GEMMA4)
    (folder / "model.safetensors.index.json").write_text(index)
    with pytest.raises(presets.CheckpointError, match=r"model\.safetensors\.index\.json"):
        presets.check(folder)


def test_a_header_nested_deeply_is_named(checkpoint):
    folder = checkpoint(GEMMA4)
    text = b'{"a":' + b"[" * 200_000
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(presets.CheckpointError, match=r"model\.safetensors"):
        presets.check(folder)


def test_a_damaged_weight_file_is_named(checkpoint):
    folder = checkpoint(GEMMA4)
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(presets.CheckpointError, match=r"model\.safetensors"):
        presets.check(folder)
    with pytest.raises(presets.CheckpointError, match="absent"):
        presets.check(folder / "absent")


@pytest.mark.parametrize("vllm", engine_versions())
def test_no_condition_is_empty(vllm):
    for file in load_all():
        for condition in file.when:
            facts = [getattr(condition, f) for f in condition.__struct_fields__ if f != "why"]
            assert any(facts), f"{file.name}: {condition.why} would match everything"
