"""What a code means, and that every code there is can be explained."""

import pytest
from click.testing import CliRunner

import presets
from presets.cli import main
from presets.explain import _FACTS, codes, explain, in_words
from presets.registry import load_all
from presets.schema import Condition

CODE = "gemma4-text/no-vision-weights"


def run(*words, code=0):
    result = CliRunner().invoke(main, ["explain", *words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_every_code_is_explained():
    for code in codes():
        found = explain(code)
        assert found.code == code
        assert found.summary
        assert found.do
        assert found.verdict in ("preset", "fault", "loads", "unknown")


def test_every_condition_is_reached_by_its_code():
    for file in load_all():
        for condition in file.when:
            code = f"{file.name}/{condition.code}" if condition.code else file.name
            assert condition.why in [one.why for one in explain(code).conditions]


def test_a_condition_code_explains_that_condition_alone():
    found = explain(CODE, "0.32.0")
    assert [one.code for one in found.conditions] == [CODE]
    assert "no tensor name starts with model.vision_tower., vision_tower." in (
        found.conditions[0].facts
    )
    assert len(explain("gemma4-text").conditions) > 1


def test_every_fact_of_the_vocabulary_has_words():
    assert {*Condition.__struct_fields__} - {"why", "code"} == _FACTS.keys()


def test_what_is_not_asked_is_not_said():
    assert in_words(Condition(why="w", values={"a.b": [1, None]})) == [
        "config.json has a.b = 1 or None"
    ]


def test_the_runs_say_where_the_control_failed():
    runs = [p for p in explain("llama-causal-lm").proofs if p.vllm == "0.32.0"]
    assert any(p.stage == "config" and "FSDPLlamaForCausalLM" in p.error for p in runs)
    assert all(p.date.startswith("2026-") for p in runs)


def test_the_advice_is_in_the_form_of_the_consumer():
    found = explain(CODE, "0.32.0", "vllm-serve")
    assert found.do.startswith("--hf-overrides")
    assert explain("bert-prefix").do == presets.registry.resolve("bert-prefix").repair


def test_an_unknown_code_suggests_the_nearest():
    with pytest.raises(presets.UnknownNameError, match="gemma4-text"):
        explain("gemma4-txt")
    with pytest.raises(presets.UnknownNameError, match=CODE):
        explain("gemma4-text/no-vision-weight")


def test_a_version_without_the_preset_is_refused_only_where_it_was_stated():
    with pytest.raises(presets.UnsupportedVersionError):
        explain("gemma4-text", "0.13.0")
    assert explain("gemma4-text").vllm


def test_the_command_line():
    assert CODE in run(CODE).stdout
    assert run("loads").stdout.startswith("loads")
    assert "did you mean" in run("lods", code=2).stderr
    assert "give either" in run(code=2).stderr
    assert "give either" in run("loads", "--log", "-", code=2).stderr
