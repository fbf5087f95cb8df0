"""Sabotage: break the preset, the defect, the environment, the weights: the verdict says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import presets
from harness import engine, tiny
from harness.cells import Cell
from harness.outcome import Reference, Request
from harness.reference import Wanted, compare, reference
from harness.verify import verify
from presets.facts import read_facts
from presets.ranges import base_version, parse_range
from presets.registry import DATA, load_all
from presets.when import matches

pytestmark = pytest.mark.engine

SOURCE = (DATA / "presets" / "gemma4-text.toml").read_text()


@pytest.fixture
def harness(tmp_path):
    """Run the command in a process of its own, on a preset file with one claim of the shipped
    gemma4-text and whatever is replaced in its text.
    """

    def run(*replaced, path=()):
        head, *claims = SOURCE.split("[[claims]]")
        text = f"{head}[[claims]]{claims[0]}"
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "gemma4-text.toml"
        file.write_text(text)
        command = "from harness.cli import run; run()"
        extra = os.pathsep.join([*map(str, path), os.environ.get("PYTHONPATH", "")])
        result = subprocess.run(
            [sys.executable, "-c", command, "verify", str(file), "--format", "json"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": extra},
            cwd=tmp_path,
        )
        assert result.returncode in (0, 1, 2), result.stderr
        return result.returncode, json.loads(result.stdout)

    return run


def test_another_class_is_broken_and_exits_1(harness):
    code, found = harness(('["Gemma4ForCausalLM"]', '["LlamaForCausalLM"]'))
    assert found["totals"] == {"broken": 1}
    assert found["ok"] is False
    assert code == 1


def test_without_its_defect_a_claim_is_unneeded_and_exits_1(harness):
    code, found = harness(('defects = ["flat-config", "drop-towers"]\n', ""))
    assert found["totals"] == {"unneeded": 1}
    assert code == 1


def test_without_torchvision_everything_is_blocked_and_exits_2(harness, tmp_path):
    fake = tmp_path / "torchvision"
    fake.mkdir()
    (fake / "__init__.py").write_text("raise ImportError('made unimportable')")
    code, found = harness(path=[tmp_path])
    assert found["totals"] == {"blocked": 1}
    assert "made unimportable" in found["cells"][0]["reason"]
    assert code == 2


def test_the_command_of_the_readme(tmp_path):
    """By name, all cells; then again for people, from the records of the first run."""
    records = tmp_path / "records.jsonl"
    command = [Path(sys.executable).with_name("harness"), "verify", "gemma4-text"]
    command += ["--records", records]
    first = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=False
    )
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert found["ok"] is True
    assert found["totals"]["needed"] >= 5
    assert found["totals"]["excluded"] == 2
    assert not {"broken", "wrong-failure", "blocked"} & found["totals"].keys()
    for cell in found["cells"]:
        assert cell["preset"] == "gemma4-text"
        assert cell["preset_hash"]
        if cell["verdict"] == "needed":
            assert not cell["control"]["ok"]
            assert cell["control"]["stage"]
            assert cell["treatment"]["parity"]["tokens_equal"]
    again = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "every claim that ran held" in again.stdout
    assert "fails at construct" in again.stdout
    assert len(records.read_text().splitlines()) == len(found["cells"])


@pytest.fixture
def preset(environment):
    return presets.get("gemma4-text", environment.vllm)


def lose_a_mapping(config):
    """In the child: the text class, with the mapping of one tensor dropped."""
    from vllm.model_executor.models.gemma4 import Gemma4ForCausalLM

    Gemma4ForCausalLM.hf_to_vllm_mapper.orig_to_new_substr["layers.2.mlp.down_proj."] = None
    config.architectures = ["Gemma4ForCausalLM"]
    return config


def test_one_tensor_that_is_not_mapped_breaks_parity(verifier, preset):
    cell = Cell(preset, preset.claims[0])
    healthy, broken = verifier.checkpoint(cell)
    wanted = verifier.reference_for(cell, healthy)
    request = Request(str(broken), wanted.prompt, {"hf_overrides": lose_a_mapping})
    outcome = engine.run(verifier.isolation, request, 120.0)
    assert outcome.ok, outcome.error  # the engine does not notice
    parity = compare(outcome, wanted, "float32")
    assert not parity.ok  # how far it is off depends on what the memory held


def test_real_weights_agree_in_bfloat16(verifier):
    """The rule for Hub checkpoints on a GPU, on the real weights that there are here."""
    preset = presets.get("llama-causal-lm", verifier.environment.vllm)
    cell = Cell(preset, preset.claims[0])
    healthy, _ = verifier.checkpoint(cell)
    asked = Wanted(prompt=cell.claim.prompt)
    arguments = (str(healthy), "LlamaForCausalLM", asked, "bfloat16", "cpu")
    wanted = verifier.isolation.call(reference, *arguments, answer=Reference)
    request = Request(str(healthy), wanted.prompt, {"dtype": "bfloat16"})
    parity = compare(engine.run(verifier.isolation, request, 300.0), wanted, "bfloat16")
    assert parity.ok
    assert 0 < parity.max_logprob_diff < parity.tolerance


def test_a_silently_wrong_control_is_not_taken_for_right(verifier, preset):
    lost = msgspec.structs.replace(
        preset.claims[0], defects=["drop-tensor=layers.2.mlp.down_proj"], control="wrong"
    )
    entry = verifier.run(Cell(preset, lost))
    assert entry.control.ok
    assert not entry.control.parity.ok
    assert entry.verdict == "broken"  # no class override brings the tensor back


def test_a_checkpoint_that_cannot_be_read_blocks_the_cell_alone(verifier, preset, monkeypatch):
    def unreadable(folder):
        raise presets.CheckpointError(f"{folder}: unreadable")

    monkeypatch.setattr("harness.verify.read_facts", unreadable)
    entry = verifier.run(Cell(preset, preset.claims[0]))
    assert entry.verdict == "blocked"
    assert entry.reason.endswith("unreadable")


def test_an_unknown_defect_blocks_the_cell_and_says_where_to_add_it(verifier, preset):
    odd = msgspec.structs.replace(preset.claims[0], defects=["melt"])
    entry = verifier.run(Cell(preset, odd))
    assert entry.verdict == "blocked"
    assert "harness/tiny/defects.py" in entry.reason


def test_a_finished_cell_is_not_run_again(verifier, preset, tmp_path):
    todo = [Cell(preset, preset.claims[0])]
    path = tmp_path / "records.jsonl"
    started = []
    (first,) = verify(verifier, todo, write_to=path, starting=started.append)
    (again,) = verify(verifier, todo, write_to=path, resume=True, starting=started.append)
    assert first == again
    assert len(started) == 1
    changed = [Cell(preset, msgspec.structs.replace(todo[0].claim, engine={"seed": 1}))]
    list(verify(verifier, changed, write_to=path, resume=True, starting=started.append))
    assert len(started) == 2
    assert len(path.read_text().splitlines()) == 2


REFUSED_AS_SAVED = {"gemma3", "llava", "llava-next"}
"""transformers 5.19 saves tower names that vLLM 0.32.0 refuses: these need their preset."""


@pytest.mark.parametrize("family", sorted({*tiny.FAMILIES, "smollm2-135m"} - REFUSED_AS_SAVED))
def test_no_preset_matches_a_healthy_checkpoint(verifier, family):
    facts = read_facts(verifier.isolation.call(tiny.build, family, [], answer=Path))
    for file in load_all():
        if base_version(verifier.environment.vllm) in parse_range(file.vllm):
            preset = presets.Preset(file, verifier.environment.vllm)
            assert matches(preset, facts) is None, file.name


def test_a_build_is_deterministic(isolation, tmp_path):
    folders = [
        isolation.call(build_in, tmp_path / cache, answer=Path, deadline=120.0) for cache in "ab"
    ]
    assert len({isolation.call(tiny.fingerprint, folder, answer=str) for folder in folders}) == 1


def build_in(cache):
    os.environ["VLLM_PRESETS_CACHE"] = str(cache)
    return tiny.build("gemma4", ["flat-config", "drop-towers"])
