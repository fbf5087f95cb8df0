"""Facts, conditions and the check of a local checkpoint, without an engine."""

import json
import struct

import pytest

import presets
from presets.check import _asked, _may_match
from presets.facts import read_facts
from presets.registry import load_all
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


def safetensors_file(path, names, shape=1):
    """A file of tensors of that many bytes, without torch or numpy."""
    header = {
        name: {"dtype": "U8", "shape": [shape], "data_offsets": [i * shape, (i + 1) * shape]}
        for i, name in enumerate(names)
    }
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(shape * len(names)))


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
    found = presets.check(folder, vllm)
    return {found.preset, *(one.preset for one in found.also)} - {None}


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


def codes(folder):
    found = presets.check(folder, "0.32.0")
    return {found.code, *(one.code for one in found.also)}


QWEN3 = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}


def test_a_tensor_in_two_shards_of_an_index(checkpoint):
    folder = checkpoint(QWEN3, ["lm_head.weight"])
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    safetensors_file(folder / "b.safetensors", ["lm_head.weight", "model.norm.weight"])
    index = {"lm_head.weight": "a.safetensors", "model.norm.weight": "b.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    found = presets.check(folder)
    assert found.code == "duplicate-tensors"
    assert "lm_head.weight is in a.safetensors and in b.safetensors" in found.reason
    index["model.norm.weight"] = "a.safetensors"  # the engine reads no other file, then
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    assert "duplicate-tensors" not in codes(folder)


def test_lora_weights_among_those_of_the_model(checkpoint):
    layer = "model.layers.0.self_attn.q_proj"
    folder = checkpoint(QWEN3, [f"{layer}.base_layer.weight", f"{layer}.lora_A.default.weight"])
    assert presets.check(folder).code == "unmerged-lora"
    folder = checkpoint(QWEN3, ["model.norm.weight"])
    safetensors_file(folder / "adapter_model.safetensors", [f"{layer}.lora_A.weight"])
    assert "unmerged-lora" not in codes(folder)


@pytest.mark.parametrize("text", ["", "{", '{"version": "1.0", "model": {"vocab": {"a'])
def test_a_tokenizer_that_ends_early(checkpoint, text):
    folder = checkpoint(QWEN3, ["model.norm.weight"])
    (folder / "tokenizer.json").write_text(text)
    assert presets.check(folder).code == "damaged-tokenizer"


def test_what_the_preprocessor_config_names(checkpoint):
    folder = checkpoint(QWEN3, ["model.norm.weight"], files=[])
    named = {"image_processor_type": "Qwen2_5_VLImageProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps(named))
    assert presets.check(folder).code == "image-processor-renamed"
    (folder / "preprocessor_config.json").write_text("[]")
    assert read_facts(folder).marks.keys() == {"unreadable-file"}


def test_a_model_type_that_nobody_knows_is_a_fault_but_not_with_code_of_its_own(checkpoint):
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "qwen9"}
    assert presets.check(checkpoint(config)).code == "unknown-model-type"
    own = {**config, "auto_map": {"AutoConfig": "configuration.Config"}}
    assert presets.check(checkpoint(own)).verdict == "unknown"


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
    found = presets.check(checkpoint(GEMMA4, tensors=[TEXT]), "0.32.0")
    assert (found.verdict, found.preset) == ("preset", "gemma4-text")
    assert found.engine_kwargs == dict(presets.get("gemma4-text", "0.32.0"))
    assert found.code == "gemma4-text/no-vision-weights"
    assert found.reason
    assert found.evidence
    assert [one.preset for one in found.also] == ["multimodal-text-only"]


def test_no_tensor_names_are_no_proof_that_a_tensor_is_absent(checkpoint):
    folder = checkpoint(GEMMA4, tensors=[TEXT])
    index = {"weight_map": {TEXT: "model.safetensors", VISION: "not-there-yet.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert advised(folder) == {"missing-shards"}
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
    "image_processor": ["P"],
    "tokenizer_class": ["T"],
    "transformers": ">=5,<6",
    "marks": ["empty-tensors"],
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
    "transformers_version": "5.19.0",
}
SPOILERS = {
    "architectures": ({"architectures": ["B"]}, {}),
    "model_type": ({"model_type": "n"}, {}),
    "configs": ({"text_config": None}, {}),
    "null_configs": ({"text_config": {"layers": 4, "architectures": ["B"]}}, {}),
    "values": ({"text_config": {"layers": 3}}, {}),
    "tokenizer_class": ({}, {"tokenizer": "U"}),
    "image_processor": ({}, {"processor": "Q"}),
    "transformers": ({"transformers_version": "4.57.1"}, {}),
    "marks": ({}, {"shape": 1}),
    "files": ({}, {"weights": "other"}),
    "tensors": ({}, {"tensors": ["lm_head"]}),
    "no_tensors": ({}, {"tensors": ["model.x", "visual.x"]}),
    "no_files": ({}, {"files": ["processor_config.json"]}),
}


@pytest.mark.parametrize("fact", FACTS)
def test_every_fact_of_a_condition_is_asked(tmp_path, fact):
    def facts(config, tensors=("model.x",), files=(), weights="model", shape=0, **classes):
        (tmp_path / "config.json").write_text(json.dumps({**HOLDS, **config}))
        tokenizer = {"tokenizer_class": classes.get("tokenizer", "T")}
        processor = {"image_processor_type": classes.get("processor", "P")}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
        safetensors_file(tmp_path / f"{weights}.safetensors", tensors, shape)
        for name in files:
            (tmp_path / name).write_text("{}")
        return read_facts(tmp_path)

    condition = Condition(why="w", **{fact: FACTS[fact]})
    assert _holds(condition, facts({}), "0.32.0")
    if fact == "vllm":
        assert not _holds(condition, facts({}), "0.19.1")
        return
    (tmp_path / "model.safetensors").unlink()
    config, rest = SPOILERS[fact]
    assert not _holds(condition, facts(config, **rest), "0.32.0")


def test_every_fact_of_the_vocabulary_is_covered_here():
    assert {*Condition.__struct_fields__} - {"why", "code"} == FACTS.keys()


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


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(presets.CheckpointError, match="absent"):
        presets.check(tmp_path / "absent")


def test_no_file_is_left_out_that_may_match():
    for file in load_all():
        for condition in file.when:
            for declared in condition.architectures or ["", "AnyClass"]:
                assert _may_match(file.name, declared), f"{file.name}: {declared}"
    assert not _may_match("gemma4-text", "LlamaForCausalLM")
    assert not _may_match("qwen3-reranker", "Qwen3ForCausalLM")  # it has an intent


def test_no_condition_is_empty():
    for file in load_all():
        for condition in file.when:
            assert _asked(condition), f"{file.name}: {condition.why} would match everything"
