"""Merging: who wins, what is a contradiction, and who set what."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import presets
from presets import (
    ContradictionError,
    GuardError,
    KwargsError,
    Preset,
    RemoteCodeError,
    UnknownArgumentError,
    UnknownNameError,
    UnsupportedVersionError,
    merge,
)
from presets.overrides import ComposedOverrides
from presets.tree import dig, leaves

Make = Callable[..., Preset]
NEWEST = "0.32.0"
GEMMA = {"hf_overrides": {"architectures": ["Gemma4ForCausalLM"]}}
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "hf_overrides": st.dictionaries(
            st.sampled_from(["vocab_size", "text_config", "x"]),
            st.integers() | st.dictionaries(st.sampled_from("ab"), st.integers(), min_size=1),
            min_size=1,
        ),
        "limit_mm_per_prompt": st.dictionaries(
            st.sampled_from(["image", "video"]), st.integers(0, 2), min_size=1
        ),
        "enforce_eager": st.booleans(),
        "max_model_len": st.integers(1, 9),
        "served_model_name": st.lists(st.sampled_from("ab"), max_size=2),
    },
)


def problems(kind: type[Any], *args: Any, **kwargs: Any) -> list[str]:
    with pytest.raises(kind) as caught:
        merge(*args, **kwargs)
    return caught.value.problems


def shrink(config: Any) -> Any:
    config.num_hidden_layers = 1
    return config


class Config:
    architectures = ("old",)


@given(ARGUMENTS)
def test_no_preset_and_nobody_else_leaves_the_users_kwargs(user: dict[str, Any]) -> None:
    assert dict(merge(None, user, vllm=NEWEST)) == user
    assert merge(None, user, vllm=NEWEST).handover() == user


@given(ARGUMENTS, ARGUMENTS)
def test_the_user_wins_at_every_leaf_and_nothing_else_is_lost(
    below: dict[str, Any], user: dict[str, Any]
) -> None:
    preset = _preset(below)
    before = copy.deepcopy((below, user))
    merged = merge(preset, user)
    for path, value in leaves(user):
        assert dig(merged, path) == value
    for path, value in leaves(below):
        if path[0] not in user:
            assert dig(merged, path) == value
    assert merged.keys() == below.keys() | user.keys()
    assert (below, user) == before
    assert dict(preset) == below


@given(ARGUMENTS, ARGUMENTS)
def test_every_leaf_is_explained(below: dict[str, Any], user: dict[str, Any]) -> None:
    merged = merge(_preset(below), user)
    explained = merged.explain()
    assert explained.keys() == {".".join(path) for path, _ in leaves(dict(merged))}
    for path, value in leaves(dict(merged)):
        layers = {"preset": below, "user": user}
        wanted = {layer for layer, tree in layers.items() if dig(tree, path) == value}
        said = set(explained[".".join(path)].split(" and "))
        assert said <= wanted or said == {"user"}
        assert ("user" in said) == (dig(user, path) == value)


def _preset(engine: dict[str, Any]) -> Preset:
    from presets.schema import KwargsBlock, PresetFile

    file = PresetFile(
        name="demo",
        family="demo",
        summary="A preset for tests.",
        vllm=">=0.13.0",
        essential=[],
        sources=[],
        when=[],
        kwargs=[KwargsBlock(vllm=">=0.13.0", engine=engine)],
        claims=[],
    )
    return Preset(file, NEWEST)


def test_a_preset_by_name_is_its_kwargs() -> None:
    merged = merge("gemma4-text", vllm=NEWEST)
    assert merged == GEMMA
    assert merged.explain() == {"hf_overrides.architectures": "preset"}
    assert (merged.vllm, merged.consumer) == (NEWEST, None)


def test_the_users_overrides_join_the_presets() -> None:
    user = {"hf_overrides": {"max_position_embeddings": 4096}, "enforce_eager": True}
    merged = merge("gemma4-text", user, vllm=NEWEST)
    assert merged["hf_overrides"] == {
        "architectures": ["Gemma4ForCausalLM"],
        "max_position_embeddings": 4096,
    }
    assert merged.explain() == {
        "hf_overrides.architectures": "preset",
        "hf_overrides.max_position_embeddings": "user",
        "enforce_eager": "user",
    }


def test_a_user_who_says_the_same_is_named_with_the_preset() -> None:
    merged = merge("gemma4-text", GEMMA, vllm=NEWEST)
    assert merged.explain() == {"hf_overrides.architectures": "preset and user"}


@pytest.mark.parametrize(
    "user",
    [
        '{"hf_overrides": {"vocab_size": 9}}',
        {"hf_overrides": '{"vocab_size": 9}'},
        json.dumps({"hf_overrides": '{"vocab_size": 9}'}),
    ],
)
def test_json_text_is_as_good_as_a_mapping(user: Any) -> None:
    expected = {"hf_overrides": {"architectures": ["Gemma4ForCausalLM"], "vocab_size": 9}}
    assert merge("gemma4-text", user, vllm=NEWEST) == expected


def test_bad_json_text_is_refused() -> None:
    with pytest.raises(KwargsError, match="hf_overrides: bad JSON"):
        merge("gemma4-text", {"hf_overrides": "{oops"}, vllm=NEWEST)


def test_none_for_an_argument_that_takes_a_mapping_adds_nothing() -> None:
    assert merge("gemma4-text", {"hf_overrides": None}, vllm=NEWEST) == GEMMA
    assert merge(None, {"quantization": None}, vllm=NEWEST) == {"quantization": None}


def test_the_result_is_frozen_and_hands_out_copies() -> None:
    merged = merge("gemma4-text", vllm=NEWEST)
    merged["hf_overrides"]["architectures"].append("spoilt")
    merged.handover()["hf_overrides"]["architectures"].append("spoilt")
    assert merged == GEMMA
    with pytest.raises(TypeError):
        merged["x"] = 1  # type: ignore[index]
    for field in ("vllm", "consumer", "x"):
        with pytest.raises(AttributeError):
            setattr(merged, field, 1)


def test_the_consumers_defaults_are_below_and_are_not_handed_over() -> None:
    merged = merge("gemma4-text", {"enforce_eager": True}, "trl-colocate", NEWEST)
    assert merged["max_num_batched_tokens"] == 4096
    assert merged.explain()["max_num_batched_tokens"] == "consumer"
    assert merged.handover() == {**GEMMA, "enforce_eager": True}
    assert merged.consumer == "trl-colocate"


def test_a_default_that_the_user_changes_is_the_users() -> None:
    merged = merge(None, {"max_num_batched_tokens": 8192}, "trl-colocate", NEWEST)
    assert merged.explain()["max_num_batched_tokens"] == "user"
    assert merged.handover() == {"max_num_batched_tokens": 8192}


def test_a_handed_over_mapping_is_whole() -> None:
    user = {"weight_transfer_config": {"packed": True}}
    merged = merge(None, user, "trl-vllm-serve", NEWEST)
    assert merged.handover() == {"weight_transfer_config": {"backend": "nccl", "packed": True}}


def test_a_value_against_an_essential_one_names_both_sides() -> None:
    user = {"hf_overrides": {"architectures": ["Gemma3ForCausalLM"]}}
    (problem,) = problems(ContradictionError, "gemma4-text", user, vllm=NEWEST)
    assert problem == (
        "hf_overrides.architectures: the preset 'gemma4-text' needs ['Gemma4ForCausalLM'], "
        "you set hf_overrides.architectures=['Gemma3ForCausalLM']"
    )


def test_the_same_value_in_a_tuple_is_no_contradiction() -> None:
    user = {"hf_overrides": {"architectures": ("Gemma4ForCausalLM",)}}
    assert merge("gemma4-text", user, vllm=NEWEST)["hf_overrides"] == {
        "architectures": ("Gemma4ForCausalLM",)
    }


def test_replacing_what_holds_an_essential_value_is_a_contradiction(make_preset: Make) -> None:
    preset = make_preset({"hf_overrides": {"architectures": ["X"]}}, ["hf_overrides.architectures"])
    (problem,) = problems(ContradictionError, preset, {"hf_overrides": ["Y"]})
    assert "needs ['X'], you set hf_overrides=['Y']" in problem


def test_adding_to_an_essential_mapping_is_no_contradiction(make_preset: Make) -> None:
    preset = make_preset({"limit_mm_per_prompt": {"image": 0}}, ["limit_mm_per_prompt"])
    user = {"limit_mm_per_prompt": {"video": 0}}
    assert merge(preset, user) == {"limit_mm_per_prompt": {"image": 0, "video": 0}}
    assert problems(ContradictionError, preset, {"limit_mm_per_prompt": {"image": 1}})


def test_what_is_not_essential_is_the_users_to_change(make_preset: Make) -> None:
    kwargs = {"language_model_only": True, "enforce_eager": True}
    preset = make_preset(kwargs, ["language_model_only"])
    assert merge(preset, {"enforce_eager": False})["enforce_eager"] is False


@pytest.mark.parametrize("value", [{"image": 1}, {"image": 0, "audio": {"count": 2}}, 3])
def test_a_conflicting_key_is_a_contradiction(make_preset: Make, value: Any) -> None:
    conflicts = {"limit_mm_per_prompt": "the towers are not loaded"}
    preset = make_preset({"language_model_only": True}, ["language_model_only"], conflicts)
    (problem,) = problems(ContradictionError, preset, {"limit_mm_per_prompt": value})
    assert problem == (
        f"limit_mm_per_prompt: you set {value!r}, which defeats the preset 'demo': "
        "the towers are not loaded"
    )


@pytest.mark.parametrize("value", [{}, {"image": 0}, {"image": {"count": 0}}, None, 0])
def test_a_conflicting_key_that_is_zero_is_fine(make_preset: Make, value: Any) -> None:
    conflicts = {"limit_mm_per_prompt": "the towers are not loaded"}
    preset = make_preset({"language_model_only": True}, ["language_model_only"], conflicts)
    assert merge(preset, {"limit_mm_per_prompt": value})["limit_mm_per_prompt"] == value


def test_all_contradictions_are_reported_at_once(make_preset: Make) -> None:
    preset = make_preset(
        {"hf_overrides": {"architectures": ["X"]}, "language_model_only": True},
        ["hf_overrides.architectures", "language_model_only"],
        {"mm_encoder_only": "no encoder is loaded"},
    )
    user = {
        "hf_overrides": {"architectures": ["Y"]},
        "language_model_only": False,
        "mm_encoder_only": True,
    }
    found = problems(ContradictionError, preset, user)
    assert [p.partition(":")[0] for p in found] == [
        "hf_overrides.architectures",
        "language_model_only",
        "mm_encoder_only",
    ]


def test_a_callable_is_composed_after_the_presets_overrides() -> None:
    merged = merge("gemma4-text", {"hf_overrides": shrink}, vllm=NEWEST)
    composed = merged["hf_overrides"]
    assert isinstance(composed, ComposedOverrides)
    config = composed(Config())
    assert (config.architectures, config.num_hidden_layers) == (["Gemma4ForCausalLM"], 1)
    assert merged.explain() == {
        "hf_overrides.architectures": "preset",
        "hf_overrides": "user (a callable, applied last)",
    }
    assert pickle.loads(pickle.dumps(merged.handover()))["hf_overrides"] == composed


def test_a_callable_that_undoes_the_preset_is_a_contradiction_when_it_is_called() -> None:
    def undo(config: Any) -> Any:
        config.architectures = ["Y"]
        return config

    composed = merge("gemma4-text", {"hf_overrides": undo}, vllm=NEWEST)["hf_overrides"]
    with pytest.raises(ContradictionError, match=r"'gemma4-text' needs .* left \['Y'\]"):
        composed(Config())


def test_a_whole_essential_mapping_is_held_to_as_well(make_preset: Make) -> None:
    class PreTrainedConfig(Config):
        def to_dict(self) -> dict[str, Any]:
            return dict(vars(self))

    preset = make_preset({"hf_overrides": {"architectures": ["X"]}}, ["hf_overrides"])
    assert merge(preset, {"hf_overrides": shrink})["hf_overrides"](PreTrainedConfig())


def test_a_callable_alone_is_left_as_it_is(make_preset: Make) -> None:
    preset = make_preset({"language_model_only": True}, ["language_model_only"])
    for lower in (preset, None):
        assert merge(lower, {"hf_overrides": shrink}, vllm=NEWEST)["hf_overrides"] is shrink


def test_remote_code_needs_the_users_own_word(make_preset: Make) -> None:
    preset = make_preset({"trust_remote_code": True, "enforce_eager": True}, ["enforce_eager"])
    with pytest.raises(RemoteCodeError, match="preset 'demo' sets trust_remote_code=True"):
        merge(preset)
    assert merge(preset, {"trust_remote_code": True})["trust_remote_code"] is True
    (problem,) = problems(ContradictionError, preset, {"trust_remote_code": False})
    assert problem.startswith("trust_remote_code: the preset 'demo' needs True, you set")


def test_a_users_own_remote_code_is_the_users_business() -> None:
    assert merge(None, {"trust_remote_code": True}, vllm=NEWEST) == {"trust_remote_code": True}


def test_unknown_arguments_of_the_user_and_of_the_preset_are_refused(make_preset: Make) -> None:
    preset = make_preset({"language_model_only": True}, ["language_model_only"], vllm="0.13.0")
    found = problems(UnknownArgumentError, preset, {"task": "embed"})
    assert [p.partition(":")[0] for p in found] == ["language_model_only", "task"]


def test_the_version_decides_what_is_unknown() -> None:
    assert merge(None, {"swap_space": 4}, vllm="0.17.1") == {"swap_space": 4}
    assert problems(UnknownArgumentError, None, {"swap_space": 4}, vllm=NEWEST)


def test_guards_see_what_preset_and_user_set(make_preset: Make) -> None:
    preset = make_preset({"quantization": "fp8"}, ["quantization"])
    user = {"tensor_parallel_size": 2, "enable_sleep_mode": True, "enforce_eager": True}
    found = problems(GuardError, preset, user, "trl-colocate")
    assert sorted(p.partition("=")[0] for p in found) == [
        "enable_sleep_mode",
        "quantization",
        "tensor_parallel_size",
    ]
    assert merge(preset, user, "llm").consumer == "llm"


def test_unknown_names_and_versions_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="no consumer 'trl-colocated'; did you mean trl-co"):
        merge("gemma4-text", consumer="trl-colocated", vllm=NEWEST)
    with pytest.raises(UnknownNameError, match="no preset"):
        merge("gemma4-txt", vllm=NEWEST)
    for lower in ("gemma4-text", None):
        with pytest.raises(UnsupportedVersionError, match="'x' is not a version"):
            merge(lower, {"seed": 1}, vllm="x")


def test_a_version_that_was_not_tried_needs_an_opt_in() -> None:
    with pytest.raises(UnsupportedVersionError):
        merge("gemma4-text", vllm="99.0.0")
    assert merge("gemma4-text", vllm="99.0.0", untested=True).vllm == "99.0.0"


def test_a_preset_keeps_its_version_unless_another_is_asked_for() -> None:
    preset = presets.get("gemma4-text", "0.24.0")
    assert merge(preset).vllm == "0.24.0"
    assert merge(preset, vllm=NEWEST).vllm == NEWEST
    assert merge(presets.get("gemma4-text", "99.0", untested=True)).vllm == "99.0"
    with pytest.raises(UnsupportedVersionError):
        merge(preset, vllm="99.0")
