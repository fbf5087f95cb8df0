"""Defects, on a checkpoint of three tensors."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from harness.errors import UnknownDefectError
from harness.tiny.defects import DEFECTS, apply
from presets.facts import read_facts

CONFIG = {
    "architectures": ["XForConditionalGeneration"],
    "text_config": {"model_type": "x_text"},
    "vision_config": {"depth": 1},
}
NAMES = ["model.language_model.norm.weight", "model.vision_tower.norm.weight", "lm_head.weight"]


@pytest.fixture
def healthy(tmp_path):
    folder = tmp_path / "healthy"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "processor_config.json").write_text("{}")
    save_file({n: torch.ones(2) for n in NAMES}, folder / "model.safetensors")
    return folder


@pytest.fixture
def damaged(healthy, tmp_path):
    def apply_to(*defects):
        apply(healthy, tmp_path / "out", list(defects))
        config = json.loads((tmp_path / "out" / "config.json").read_text())
        return config, set(load_file(tmp_path / "out" / "model.safetensors")), tmp_path / "out"

    return apply_to


def test_the_source_is_left_alone(healthy, damaged):
    before = {p.name: p.read_bytes() for p in healthy.iterdir()}
    damaged("drop-processor", "drop-towers", "flat-config", "architecture=Y")
    assert {p.name: p.read_bytes() for p in healthy.iterdir()} == before


def test_drop_towers_and_strip_prefix(damaged):
    _, names, _ = damaged("drop-towers", "strip-language-prefix")
    assert names == {"model.norm.weight", "lm_head.weight"}


def test_flat_config_keeps_the_declared_class(damaged):
    config, names, _ = damaged("flat-config")
    assert config == {"model_type": "x_text", "architectures": ["XForConditionalGeneration"]}
    assert names == set(NAMES)


def test_null_config_architecture_and_drop_tensor(damaged):
    config, names, _ = damaged("null-config=vision_config", "architecture=", "drop-tensor=lm_head")
    assert config["vision_config"] is None
    assert config["architectures"] is None
    assert names == {NAMES[0], NAMES[1]}


def test_set_key_write_file_and_drop_files(damaged):
    config, _, folder = damaged(
        "set-key=vision_config.depth=7", "set-key=text_config", "write-file=modules.json=[]"
    )
    assert config["vision_config"] == {"depth": 7}
    assert "text_config" not in config
    assert (folder / "modules.json").read_text() == "[]"


def test_drop_processor(damaged):
    *_, folder = damaged("drop-processor")
    assert {p.name for p in folder.iterdir()} == {"config.json", "model.safetensors"}


@pytest.mark.parametrize(
    "defects",
    [
        ["nope"],
        ["set-key=absent"],
        ["set-key=absent.key=1"],
        ["drop-files=*.model"],
        ["drop-tensor=absent"],
        ["null-config=audio_config"],
        ["drop-processor"] * 2,
    ],
)
def test_a_defect_that_changes_nothing_is_an_error(damaged, defects):
    with pytest.raises(UnknownDefectError, match=defects[-1].partition("=")[0]):
        damaged(*defects)


def test_every_defect_says_what_goes_wrong():
    assert all(function.__doc__ for function in DEFECTS.values())


@pytest.fixture
def ruined(healthy, tmp_path):
    def apply_to(defect):
        apply(healthy, tmp_path / "out", [defect])
        return tmp_path / "out"

    return apply_to


def test_a_file_is_cut_short(healthy, ruined):
    size = (healthy / "model.safetensors").stat().st_size
    folder = ruined("truncate=model.safetensors")
    assert (folder / "model.safetensors").stat().st_size == size * 9 // 10
    assert (healthy / "model.safetensors").stat().st_size == size


def test_a_tensor_loses_its_values(ruined):
    folder = ruined("empty-tensor=norm")
    empty = {n: t for n, t in read_facts(folder).tensors.items() if 0 in t.shape}
    assert empty
    assert all("norm" in name for name in empty)


def test_a_shard_is_lost_and_the_index_still_names_it(healthy, ruined):
    facts = read_facts(ruined("lose-shard"))
    assert facts.tensors.keys() == read_facts(healthy).tensors.keys()
    assert "missing-shards" in facts.marks


def test_only_an_adapter_is_left(healthy, ruined):
    facts = read_facts(ruined("adapter-only"))
    assert facts.config == {}
    assert "adapter_config.json" in facts.files
    assert not facts.tensors.keys() & read_facts(healthy).tensors.keys()
