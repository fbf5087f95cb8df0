"""What ``presets check --format json`` prints is what the shipped schema says."""

import json

import jsonschema
import pytest
from click.testing import CliRunner

from presets.cli import main
from presets.registry import DATA

SCHEMA = json.loads((DATA / "check.schema.json").read_text(encoding="utf-8"))
GEMMA4 = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "model_type": "gemma4",
    "text_config": {},
    "vision_config": None,
}
FOLDERS = {
    "preset": {"config.json": json.dumps(GEMMA4), "pytorch_model.bin": ""},
    "fault": {"adapter_config.json": "{}", "adapter_model.bin": ""},
    "unknown": {
        "config.json": '{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}',
        "pytorch_model.bin": "",
    },
}


@pytest.fixture
def output(tmp_path):
    def make(files, *words):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        command = ["check", str(tmp_path), "--vllm", "0.32.0", "--format", "json", *words]
        return json.loads(CliRunner().invoke(main, command, catch_exceptions=False).stdout)

    return make


@pytest.mark.parametrize("verdict", FOLDERS)
@pytest.mark.parametrize("words", [(), ("--for", "vllm-serve")], ids=["", "consumer"])
def test_real_output_is_valid(output, verdict, words):
    found = output(FOLDERS[verdict], *words)
    assert found["verdict"] == verdict
    jsonschema.validate(found, SCHEMA)


@pytest.mark.parametrize("key", ["code", "also", "facts", "engine_kwargs"])
def test_what_lacks_a_key_is_not_valid(output, key):
    found = output(FOLDERS["preset"])
    del found[key]
    with pytest.raises(jsonschema.ValidationError, match=key):
        jsonschema.validate(found, SCHEMA)


def test_a_verdict_that_there_is_not_is_not_valid(output):
    found = {**output(FOLDERS["preset"]), "verdict": "maybe"}
    with pytest.raises(jsonschema.ValidationError, match="maybe"):
        jsonschema.validate(found, SCHEMA)


def test_the_keys_are_those_of_the_contract():
    assert set(SCHEMA["$defs"]["Check"]["required"]) == {
        "checkpoint",
        "vllm",
        "consumer",
        "verdict",
        "code",
        "preset",
        "engine_kwargs",
        "reason",
        "fix",
        "evidence",
        "also",
        "facts",
    }
