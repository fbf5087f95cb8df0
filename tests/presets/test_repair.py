"""Repair: a new folder with other names, keys and files, the same bytes, or nothing at all."""

import json
import os

import hypothesis.strategies as st
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import presets
from presets import repair as module
from presets.cli import main
from presets.repair import _renamed, apply, repair
from presets.schema import Steps
from presets.source import Folder

NAMES = ("model.embed_tokens.weight", "model.layers.0.mlp.weight", "lm_head.weight")
CONFIG = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}


def tensors(prefix=""):
    return {prefix + name: np.full((2, 3), i, np.float32) for i, name in enumerate(NAMES)}


@pytest.fixture
def folder(tmp_path):
    """A checkpoint in two shards whose names all have a prefix."""

    def make(prefix="module.", config=CONFIG, files=("tokenizer.json",)):
        path = tmp_path / "ckpt"
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config))
        for name in files:
            (path / name).write_text("{}")
        every = list(tensors(prefix).items())
        shards = {"a.safetensors": dict(every[:1]), "b.safetensors": dict(every[1:])}
        for shard, held in shards.items():
            save_file(held, path / shard, metadata={"format": "pt"})
        index = {name: shard for shard, held in shards.items() for name in held}
        (path / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {"total_size": 72}, "weight_map": index})
        )
        return path

    return make


def content(path):
    return {p.relative_to(path): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def test_prefixes_are_taken_off_and_the_bytes_stay(folder, tmp_path):
    broken = folder("base_model.model.")
    before = content(broken)
    done = repair(broken, tmp_path / "out", vllm="0.32.0")
    assert done.codes == ["wrapper-prefix/peft"]
    assert done.check.checkpoint == done.out == str(tmp_path / "out")
    assert done.check.preset is None
    assert done.changes[0].startswith("3 tensors renamed: base_model.model.lm_head.weight -> lm_")
    found = {}
    for shard in ("a.safetensors", "b.safetensors"):
        found.update(load_file(tmp_path / "out" / shard))
        with safe_open(tmp_path / "out" / shard, "numpy") as file:
            assert file.metadata() == {"format": "pt"}
    assert {name: value.tolist() for name, value in found.items()} == {
        name: value.tolist() for name, value in tensors().items()
    }
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert index["metadata"] == {"total_size": 72}
    assert index["weight_map"].keys() == tensors().keys()
    assert content(broken) == before
    assert sorted(os.listdir(tmp_path)) == ["ckpt", "out"]


def test_a_presets_hf_overrides_are_written_into_config_json(folder, tmp_path):
    config = {**CONFIG, "architectures": ["FSDPQwen3ForCausalLM"]}
    broken = folder("", config)
    done = repair(broken, tmp_path / "out", vllm="0.32.0")
    assert done.codes == [presets.check(broken, "0.32.0").code]
    assert json.loads((tmp_path / "out" / "config.json").read_text()) == CONFIG
    assert done.changes == ['config.json: architectures = ["Qwen3ForCausalLM"]']
    assert (tmp_path / "out" / "a.safetensors").read_bytes() == (
        broken / "a.safetensors"
    ).read_bytes()


def test_two_repairs_one_after_the_other(folder, tmp_path):
    config = {**CONFIG, "architectures": ["FSDPQwen3ForCausalLM"]}
    done = repair(folder("_orig_mod.", config), tmp_path / "out", vllm="0.32.0")
    assert done.codes == ["wrapper-prefix/compile", "qwen3-causal-lm/fsdp-class"]
    assert sorted(os.listdir(tmp_path)) == ["ckpt", "out"]


def test_files_of_the_base_model(folder, tmp_path):
    broken = folder("", files=())
    with pytest.raises(presets.CheckpointError, match=r"tokenizer-from-base.*--base DIR"):
        repair(broken, tmp_path / "out", vllm="0.32.0")
    base = tmp_path / "base"
    base.mkdir()
    with pytest.raises(presets.CheckpointError, match=r"base: has none of tokenizer\*"):
        repair(broken, tmp_path / "out", base, vllm="0.32.0")
    (base / "tokenizer.json").write_text('{"of": "base"}')
    (base / "config.json").write_text("{}")
    done = repair(broken, tmp_path / "out", base, vllm="0.32.0")
    assert done.changes == [f"tokenizer.json: copied from {base}"]
    assert (tmp_path / "out" / "tokenizer.json").read_text() == '{"of": "base"}'
    assert json.loads((tmp_path / "out" / "config.json").read_text()) == CONFIG


def test_what_is_not_wrong_is_not_repaired(folder, tmp_path):
    with pytest.raises(presets.CheckpointError, match="no preset or fault matches"):
        repair(folder(""), tmp_path / "out", vllm="0.32.0")
    assert os.listdir(tmp_path) == ["ckpt"]


def test_what_has_no_steps_says_what_to_do(folder, tmp_path):
    broken = folder("")
    (broken / "b.safetensors").unlink()
    with pytest.raises(presets.CheckpointError, match=r"missing-shards cannot .* Copy the missing"):
        repair(broken, tmp_path / "out", vllm="0.32.0")


def test_an_existing_folder_is_left_alone(folder, tmp_path):
    broken = folder()
    (tmp_path / "out").mkdir()
    for target in (broken, tmp_path / "out"):
        before = content(target)
        with pytest.raises(presets.CheckpointError, match="exists"):
            repair(broken, target, vllm="0.32.0")
        assert content(target) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_repair_leaves_nothing(folder, tmp_path, monkeypatch, error):
    def stop(*_):
        raise error

    monkeypatch.setattr(module.shutil, "copyfileobj", stop)
    with pytest.raises((presets.CheckpointError, KeyboardInterrupt)):
        repair(folder(), tmp_path / "out", vllm="0.32.0")
    assert os.listdir(tmp_path) == ["ckpt"]


def test_no_room(folder, tmp_path, monkeypatch):
    usage = module.shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(presets.CheckpointError, match="0 MiB are free"):
        repair(folder(), tmp_path / "out", vllm="0.32.0")


def test_a_target_in_no_folder(folder, tmp_path):
    with pytest.raises(presets.CheckpointError, match="No such file or directory"):
        repair(folder(), tmp_path / "nowhere" / "out", vllm="0.32.0")


def test_folders_inside_are_copied_and_links_that_leave_are_not(folder, tmp_path):
    broken = folder()
    (broken / "1_Pooling").mkdir()
    (broken / "1_Pooling" / "config.json").write_text("{}")
    (broken / "1_Pooling" / "passwd").symlink_to("/etc/passwd")
    (broken / ".git").mkdir()
    (broken / ".git" / "HEAD").write_text("x")
    (broken / "secret.json").symlink_to("/etc/passwd")
    os.mkfifo(broken / "fifo")
    repair(broken, tmp_path / "out", vllm="0.32.0")
    names = {str(path) for path in content(tmp_path / "out")}
    assert names == {str(path) for path in content(broken)} - {
        "1_Pooling/passwd",
        ".git/HEAD",
        "secret.json",
    }


def test_a_damaged_file_is_named(folder, tmp_path):
    broken = folder()
    (broken / "b.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(presets.CheckpointError, match=r"b\.safetensors: the header should have"):
        apply(Steps(rename={"module.": ""}), Folder(broken), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_keys_are_set_and_taken_out(folder, tmp_path):
    steps = Steps(
        set={"config.json": {"text_config.tie": True, "model_type": "x"}},
        unset={"config.json": ["architectures", "never.there"]},
    )
    changes = apply(steps, Folder(folder()), tmp_path / "out")
    found = json.loads((tmp_path / "out" / "config.json").read_text())
    assert found == {"model_type": "x", "text_config": {"tie": True}}
    assert changes[-1] == "config.json: architectures taken out"
    assert len(changes) == 3


def test_two_tensors_must_not_get_one_name():
    with pytest.raises(presets.CheckpointError, match=r"a\.x and x would both be named x"):
        _renamed(["x", "a.x"], {"a.": ""})


def test_a_longer_prefix_is_given_once():
    steps = {"tower.": "tower.model."}
    assert _renamed(["tower.x", "tower.model.y"], steps) == {"tower.x": "tower.model.x"}


@given(
    st.lists(st.text("ab.", max_size=6), unique=True),
    st.dictionaries(st.text("ab."), st.text("ab."), max_size=3),
)
def test_renaming_keeps_every_tensor(names, prefixes):
    try:
        changed = _renamed(names, prefixes)
    except presets.CheckpointError:
        return
    assert len({changed.get(name, name) for name in names}) == len(names)
    assert all(changed[name] != name for name in changed)


def test_command(folder, tmp_path):
    broken = folder()
    command = ["repair", str(broken), "--out", str(tmp_path / "out"), "--vllm", "0.32.0"]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"repaired wrapper-prefix/ddp: {tmp_path / 'out'}\n  3 tensors")
    assert "now unknown: " in result.stdout
    assert "b.safetensors" in result.stderr
    again = CliRunner().invoke(main, command, catch_exceptions=False)
    assert (again.exit_code, again.stderr) == (
        2,
        f"error: {tmp_path / 'out'}: exists; name a folder that does not\n",
    )
    command[3] += "2"
    result = CliRunner().invoke(main, [*command, "--format", "json"], catch_exceptions=False)
    assert json.loads(result.stdout)["check"]["verdict"] == "unknown"


def test_what_is_left_after_a_repair_is_said(folder, tmp_path):
    broken = folder(files=())
    command = ["repair", str(broken), "--out", str(tmp_path / "out"), "--vllm", "0.32.0"]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    assert result.exit_code == 1
    assert "now fault tokenizer-from-base" in result.stdout


def test_the_check_names_the_command(folder):
    broken = folder()
    assert presets.check(broken, "0.32.0").fix.endswith("Or: presets repair CKPT --out DIR")
    result = CliRunner().invoke(main, ["check", str(broken), "--vllm", "0.32.0"])
    assert "presets repair CKPT --out DIR" in result.stdout
