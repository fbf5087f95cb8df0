"""Which architectures a vLLM version has, and what an unknown one is told."""

import pytest

import presets
from presets import UnknownArgumentError
from presets.architectures import (
    absent,
    check_architectures,
    unheard_of,
    unknown_model_type,
)
from presets.engines import engine
from presets.registry import engine_versions


@pytest.mark.parametrize("version", engine_versions())
def test_a_record_tells_text_from_multimodal_classes(version: str) -> None:
    known = engine(version).architectures
    assert len(known) > 200
    assert "supports_multimodal" in known["Qwen2VLForConditionalGeneration"].flags
    assert "supports_multimodal" not in known["LlamaForCausalLM"].flags
    assert "is_pooling_model" in known["BertModel"].flags
    assert sum(bool(entry.error) for entry in known.values()) < 25  # mostly missing extras
    assert not [name for name, entry in known.items() if entry.flags and entry.error]


def test_the_mapper_of_a_class_is_recorded_in_order() -> None:
    (strips,) = engine("0.32.0").architectures["Gemma4ForCausalLM"].mapper["prefix"].items()
    assert strips == ("model.language_model.", "model.")
    drops = engine("0.32.0").architectures["Gemma4ForCausalLM"].mapper["substr"]
    assert drops["vision_tower."] is None


def test_several_names_of_one_class_are_known() -> None:
    known = engine("0.32.0").architectures
    names = {name for name, entry in known.items() if entry.model == known["LlamaModel"].model}
    assert len(names) > 1


def test_twins_are_text_classes_of_the_same_version() -> None:
    for version in engine_versions():
        record = engine(version)
        assert record.twins
        for multimodal, text in record.twins.items():
            assert "supports_multimodal" in record.architectures[multimodal].flags
            if text is not None:
                assert "supports_multimodal" not in record.architectures[text].flags


def test_a_preset_hands_out_a_text_class_only_where_it_loads() -> None:
    """Where config.json declares a multimodal class, no other text class than its recorded twin."""
    newest = engine_versions()[-1]
    twins = engine(newest).twins
    seen = set()
    for preset in presets.find(vllm=newest, trust_remote_code=True):
        names = preset.get("hf_overrides", {}).get("architectures")
        for declared in {a for c in preset.when for a in c.architectures} & twins.keys():
            if names and names != [declared]:
                assert names == [twins[declared]], preset.name
                seen.add(declared)
    assert "Gemma4ForConditionalGeneration" in seen


@pytest.mark.parametrize(
    ("name", "vllm", "said"),
    [
        ("LlamaForCausalLM", "0.32.0", ""),
        ("NoSuchClass", "0.32.0", ""),
        ("Qwen3ForSequenceClassification", "0.32.0", ""),
        ("Gemma4ForSequenceClassification", "0.13.0", "does not have it yet"),
        ("Gemma4ForCausalLM", "0.13.0", "does not have it yet; the first recorded version with it"),
        ("DonutForConditionalGeneration", "0.32.0", "the last version with it is 0.10.2"),
        ("TarsierForConditionalGeneration", "0.25.0", "the last version with it is 0.24.0"),
        ("TarsierForConditionalGeneration", "0.24.0", ""),
    ],
)
def test_an_absent_architecture_is_told_since_or_until_when(
    name: str, vllm: str, said: str
) -> None:
    found = absent(name, vllm)
    assert said in found
    assert bool(said) == bool(found)


def test_engine_kwargs_are_asked_at_both_depths() -> None:
    overrides = {
        "architectures": ["DonutForConditionalGeneration"],
        "text_config": {"architectures": ["Gemma4ForCausalLM"]},
    }
    with pytest.raises(UnknownArgumentError) as caught:
        check_architectures({"hf_overrides": overrides}, "0.13.0")
    first, second = caught.value.problems
    assert first.startswith("hf_overrides.architectures: DonutForConditionalGeneration: ")
    assert second.startswith("hf_overrides.text_config.architectures: Gemma4ForCausalLM: ")
    check_architectures({"hf_overrides": {"architectures": ["MyPluginModel"]}}, "0.32.0")
    check_architectures({"hf_overrides": lambda config: config}, "0.32.0")


def test_merge_refuses_a_class_that_the_version_does_not_have() -> None:
    overrides = {"hf_overrides": {"architectures": ["DonutForConditionalGeneration"]}}
    with pytest.raises(UnknownArgumentError, match="no longer has it"):
        presets.merge(None, overrides, vllm="0.32.0")


def test_a_misspelt_architecture_is_told_the_nearest_name() -> None:
    assert unheard_of("LlamaForCausalLM") == ""
    assert "did you mean LlamaForCausalLM" in unheard_of("LLamaForCausalLM")


def test_a_model_type_is_unknown_where_the_transformers_of_that_time_lacks_it() -> None:
    why = unknown_model_type("qwen3_5_text", "0.17.1")
    assert why == (
        "transformers 4.57.6 (vLLM 0.17.1) does not know it; 5.6.2 does, the one of the recorded "
        "vLLM 0.19.1"
    )
    assert unknown_model_type("qwen3_5_text", "0.19.1") == ""
    assert unknown_model_type("qwen3_5_text", "0.18.0") == ""  # one of its neighbours knows it
    assert "none of another recorded vLLM does" in unknown_model_type("qwen9", "0.32.0")
    assert unknown_model_type("", "0.32.0") == ""
