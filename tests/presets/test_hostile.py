"""``presets check`` as people run it, on folders that are broken or made to do harm."""

import contextlib
import json
import os
import pickle
import resource
import runpy
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import presets
from presets import facts
from presets.check import check_source
from presets.errors import CheckpointError
from presets.header import LIMIT
from presets.source import Folder

MIB = 2**20
GIB = 2**30
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
TENSOR = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
RUN = "from presets.cli import main; main()"


def weights(header, size=1):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(size)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "checkpoint"
    made.mkdir()
    (made / "config.json").write_text(json.dumps(CONFIG))
    (made / "model.safetensors").write_bytes(weights({"lm_head.weight": TENSOR}))
    (made / "tokenizer.json").write_text("{}")
    return made


def listing(folder):
    """All that is at and around a folder, with what tells whether it was written."""
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in sorted(folder.parent.rglob("*"))
    }


def run(folder, form="human", limit=None):
    """Exit code, stdout and stderr of ``presets check``; it wrote nothing and had no traceback."""
    before = listing(folder)
    done = subprocess.run(
        [sys.executable, "-c", RUN, "check", str(folder), "--vllm", "0.32.0", "--format", form],
        capture_output=True,
        check=False,
        timeout=120,
        cwd="/",  # "python -c" takes modules from where it runs
        env={
            "PYTHONPATH": str(Path(presets.__file__).parents[1]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8:strict",
        },
        preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))),
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err
    assert listing(folder) == before
    assert done.returncode in (1, 2), out
    assert bool(out) != bool(err), "an answer on stdout, or an error on stderr"
    assert all(c.isprintable() or c == "\n" for c in out + err)
    assert len(out + err) < 20_000
    return done.returncode, out + err


DEEP = b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
BROKEN_JSON = {
    "empty": b"",
    "a list": b"[]",
    "null": b"null",
    "truncated": b'{"a": ',
    "not UTF-8": b'{"a": "\xff"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "deep": DEEP,
    "a number of 5000 digits": b'{"a": ' + b"9" * 5000 + b"}",
    "huge": b'{"a": "' + b"a" * (33 * MIB) + b'"}',
}


@pytest.mark.parametrize("what", BROKEN_JSON)
@pytest.mark.parametrize("name", ["config.json", facts.INDEX])
def test_a_broken_config_or_index_is_one_line_and_exit_2(folder, name, what):
    (folder / name).write_bytes(BROKEN_JSON[what])
    code, said = run(folder)
    assert code == 2
    assert said.startswith(f"error: {folder}/{name}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("what", BROKEN_JSON)
def test_a_broken_tokenizer_config_is_named(folder, what):
    (folder / "tokenizer_config.json").write_bytes(BROKEN_JSON[what])
    _, said = run(folder)
    assert "tokenizer_config.json: " in said


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"architectures": "A"}, "architectures: expected"),
        ({"architectures": [1]}, "architectures: expected"),
        ({"architectures": ["\n::error::"]}, "architectures: expected"),
        ({"architectures": ["A" * 10_000]}, "architectures: expected"),
        ({"model_type": [1]}, "model_type: expected"),
        ({"model_type": "\x1b[2J"}, "model_type: expected"),
    ],
)
def test_a_name_that_is_none_is_refused(folder, config, said):
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    code, text = run(folder)
    assert code == 2
    assert f"config.json: {said}" in text


def test_nan_and_odd_values_do_not_come_out_as_json(folder):
    config = {**CONFIG, "rope_theta": float("nan"), "vocab_size": float("-inf"), "\ud800": {}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": NaN}')
    _, text = run(folder, "json")
    found = json.loads(text, parse_constant=pytest.fail)
    assert found["facts"]["configs"] == ["\ud800"]


@pytest.mark.parametrize("form", ["human", "json", "github"])
def test_a_file_name_that_is_not_utf8(folder, form):
    (folder / os.fsdecode(b"\xff\n.safetensors")).write_bytes(b"")
    _, text = run(folder, form)
    assert "a file of 0 bytes has no header" in text


@pytest.mark.parametrize("form", ["human", "github"])
def test_names_of_tensors_cannot_end_a_line(folder, form):
    name = "\n::error::\x1b[2J\u202e"
    (folder / "model.safetensors").write_bytes(weights({name: {**TENSOR, "dtype": "?"}}))
    _, text = run(folder, form)
    assert text.count("\n") == len(text.splitlines())
    assert not any(line.startswith("::error::\\") for line in text.splitlines())
    assert "unknown dtype" in text


@pytest.mark.parametrize(
    "shard",
    ["../secret.safetensors", "/etc/passwd", "a/../../secret.safetensors", "..", "", ".", "a\0b"],
)
def test_an_index_that_leads_out_of_the_folder_is_not_followed(folder, shard):
    (folder.parent / "secret.safetensors").write_bytes(weights({"secret": TENSOR}))
    (folder / facts.INDEX).write_text(json.dumps({"weight_map": {"lm_head.weight": shard}}))
    assert facts.read_facts(folder).marks.keys() == {"unsafe-index"}
    _, text = run(folder)
    assert repr(shard) in text or repr(repr(shard))[1:-1] in text


@pytest.mark.parametrize("shard", [1, None, [], {}, True])
def test_an_index_entry_that_is_no_text_is_an_error(folder, shard):
    (folder / facts.INDEX).write_text(json.dumps({"weight_map": {"lm_head.weight": shard}}))
    code, text = run(folder)
    assert (code, "Expected `str`" in text) == (2, True)


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "training_args.bin"])
def test_a_pickle_is_not_loaded(folder, name):
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Bomb(folder / "pwned")))
    _, text = run(folder)
    assert name in text
    assert not (folder / "pwned").exists()
    with (folder / name).open("rb") as file:
        pickle.load(file)
    assert (folder / "pwned").exists(), "the pickle would have done it"


def test_remote_code_is_not_imported(folder):
    names = ("modeling_x", "configuration_x", "sitecustomize", "json", "msgspec", "presets", "vllm")
    for name in names:
        (folder / f"{name}.py").write_text(f"import os; os.mkdir({str(folder / 'pwned')!r})")
    auto = {"AutoConfig": "configuration_x.C", "AutoModelForCausalLM": "modeling_x.M"}
    (folder / "config.json").write_text(json.dumps({**CONFIG, "auto_map": auto}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"auto_map": auto}))
    run(folder)
    assert not (folder / "pwned").exists()
    runpy.run_path(str(folder / "modeling_x.py"))
    assert (folder / "pwned").exists(), "the code would have done it"


@pytest.mark.parametrize("name", ["config.json", facts.INDEX])
def test_a_fifo_does_not_block(folder, name):
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    code, text = run(folder)
    assert code == 2
    assert "not a regular file" in text


DAMAGED = {
    "empty": b"",
    "truncated": weights({"a": TENSOR}, 0),
    "a length of 2**63": struct.pack("<Q", 2**63),
    "deep": weights(DEEP),
    "twice": weights(b'{"a":1,"a":' + json.dumps(TENSOR).encode() + b"}"),
    "an HTML page": b"<!doctype html><title>404</title>" * 9,
    "a git-lfs pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_weights_are_a_mark_and_nothing_is_taken_for_absent(folder, what):
    (folder / "model-2.safetensors").write_bytes(DAMAGED[what])
    found = facts.read_facts(folder)
    assert found.marks.keys() == {"damaged-weights"}
    assert found.unread
    _, text = run(folder)
    assert "model-2.safetensors: " in text


def bomb(size, value):
    """A JSON object of that many bytes with as many members as fit."""
    members = size // (len(value) + 11)
    return b"{" + b",".join(b'"%07x":%s' % (i, value) for i in range(members)) + b"}"


def test_memory_is_bounded_as_the_facts_say(folder):
    (folder / "config.json").write_bytes(b'{"a":[' + b'{"":0},' * (7 * MIB // 7) + b"0]}")
    (folder / "model.safetensors").write_bytes(weights(bomb(32 * MIB - 99, b"{}")))
    (folder / facts.INDEX).write_bytes(b'{"weight_map":' + bomb(8 * MIB, b'""') + b"}")
    _, text = run(folder, limit=3 * GIB // 2)
    assert "malformed: Object missing required field" in text


class Counting(Folder):
    """A folder that counts the bytes that are asked of each file."""

    def __init__(self, path):
        super().__init__(path)
        self.asked = {}

    def read(self, name, start, length):
        self.asked[name] = self.asked.get(name, 0) + length
        return super().read(name, start, length)


def sized(path, size, start=b""):
    """A sparse file."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", facts.INDEX])
def test_json_above_its_cap_is_not_read(folder, name):
    cap = facts.MAX_INDEX if name == facts.INDEX else facts.MAX_JSON
    sized(folder / name, cap + 1)
    source = Counting(folder)
    if name == "tokenizer_config.json":
        assert "at most" in facts.read_facts(source).marks["damaged-tokenizer"]
    else:
        with pytest.raises(CheckpointError, match="at most"):
            facts.read_facts(source)
    assert name not in source.asked


def test_no_header_above_its_cap_and_no_weight_is_read(folder):
    sized(folder / "wide.safetensors", 2**40, struct.pack("<Q", LIMIT + 1))
    text = b'{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (2**40, 2**40)
    sized(folder / "heavy.safetensors", 8 + len(text) + 2**40, weights(text, 0))
    source = Counting(folder)
    found = facts.read_facts(source)
    assert source.asked["wide.safetensors"] == 8
    assert source.asked["heavy.safetensors"] == 8 + len(text)
    assert source.asked.keys() == source.files.keys()
    assert source.asked["tokenizer.json"] <= 64  # how it ends
    assert found.tensors["a"].shape == (2**40,)
    assert "at most" in found.unread[0]


def test_headers_of_many_files_have_a_cap_together(folder, monkeypatch):
    monkeypatch.setattr(facts, "MAX_HEADERS", 1000)
    for index in range(40):
        header = {f"{index}.{'x' * 100}": TENSOR}
        (folder / f"{index}.safetensors").write_bytes(weights(header))
    source = Counting(folder)
    found = facts.read_facts(source)
    read = sum(size for name, size in source.asked.items() if name.endswith(".safetensors"))
    assert read <= 1000 + 8 * 41
    assert 0 < len(found.tensors) < 10
    assert len(found.unread) > 30
    assert check_source(source, "0.32.0").verdict != "loads"


@pytest.mark.parametrize("index", ["9" * 15, "9" * 5000, "٣"])
def test_an_index_of_a_layer_may_be_any_text(folder, index):
    names = [f"model.layers.{index}.x.weight", "model.layers.0.x.weight"]
    header = {n: {**TENSOR, "data_offsets": [i, i + 1]} for i, n in enumerate(names)}
    (folder / "model.safetensors").write_bytes(weights(header, 2))
    run(folder)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        *("architectures", "model_type", "text_config", "vision_config", "vocab_size"),
        *("tie_word_embeddings", "num_hidden_layers", "transformers_version", "auto_map"),
        *("quantization_config", "rope_scaling", "torch_dtype", "tokenizer_class"),
        *("extra_special_tokens", "id2label"),
    ]
)


@given(st.dictionaries(KEYS, values), st.dictionaries(KEYS, values), st.sampled_from(["A", None]))
@settings(max_examples=150)
def test_any_values_in_any_field_are_a_verdict_or_an_error(
    tmp_path_factory, config, tokenizer, architecture
):
    folder = tmp_path_factory.mktemp("checkpoint")
    if architecture:
        config = {**config, **CONFIG}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (folder / "model.safetensors").write_bytes(weights({"model.layers.0.x.weight": TENSOR}))
    with contextlib.suppress(CheckpointError):
        assert presets.check(folder, "0.32.0").verdict != "loads"
