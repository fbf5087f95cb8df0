"""Keys that a consumer must own: what hits a guard, what does not, and what is said."""

from collections.abc import Callable
from typing import Any

import pytest

from presets import GuardError, consumer_names
from presets.guards import check_guards
from presets.registry import consumer
from presets.schema import ConsumerFile

Make = Callable[..., ConsumerFile]
RESERVED = ["model", "distributed_executor_backend", "seed", "logprobs_mode", "quantization"]


def hit(profile: ConsumerFile, **user: Any) -> list[str]:
    try:
        check_guards({"preset": {}, "user": user}, profile)
    except GuardError as error:
        return error.problems
    return []


def test_a_guard_on_an_argument_is_hit_by_it_and_by_what_is_below(make_consumer: Make) -> None:
    profile = make_consumer("hf_overrides")
    assert hit(profile, hf_overrides={"architectures": ["X"]})
    assert hit(profile, hf_overrides=lambda config: config)
    assert not hit(profile, hf_config_path="x")


def test_a_guard_below_an_argument_is_hit_by_that_key_alone(make_consumer: Make) -> None:
    profile = make_consumer("hf_overrides.rms_norm_eps")
    assert hit(profile, hf_overrides={"rms_norm_eps": 1e-5})
    assert hit(profile, hf_overrides={"rms_norm_eps": {"deep": 1}})
    assert not hit(profile, hf_overrides={"architectures": ["X"]})
    assert not hit(profile, hf_overrides={"text_config": {"rms_norm_eps": 1}})
    assert not hit(profile, hf_overrides=lambda config: config)


def test_values_restrict_a_guard(make_consumer: Make) -> None:
    profile = make_consumer("load_format", values=["dummy"])
    assert hit(profile, load_format="dummy")
    assert not hit(profile, load_format="auto")


def test_all_but_the_free_keys_below(make_consumer: Make) -> None:
    profile = make_consumer("hf_overrides", free=["architectures", "text_config.model_type"])
    assert not hit(profile, hf_overrides={"architectures": ["X"]})
    assert not hit(profile, hf_overrides={"text_config": {"model_type": "x"}})
    assert not hit(profile, hf_overrides=lambda config: config)
    assert not hit(profile, hf_overrides={})
    deep = {"architectures": ["X"], "text_config": {"model_type": "x", "rope": {"theta": 1}}}
    (said,) = hit(profile, hf_overrides=deep)
    assert said.startswith("hf_overrides.text_config.rope.theta=1 (from the user): reserved by")
    assert len(hit(profile, hf_overrides={"vocab_size": 9, "rms_norm_eps": 1})) == 2


@pytest.mark.parametrize("key", ["rms_norm_eps", "sliding_window", "vocab_size", "rope_theta"])
def test_what_the_trainer_computes_with_is_not_changed_in_the_engine_alone(key: str) -> None:
    profile = consumer("trl-colocate")
    assert hit(profile, hf_overrides={key: 1})
    assert hit(profile, hf_overrides={"text_config": {key: 1}})
    assert not hit(profile, hf_overrides={"architectures": ["Gemma4ForCausalLM"]})


@pytest.mark.parametrize("value", [0, 1, None, False])
def test_any_value_hits_a_guard_without_values(make_consumer: Make, value: Any) -> None:
    assert hit(make_consumer("seed"), seed=value)


def test_all_hits_are_reported_at_once_with_all_one_needs(make_consumer: Make) -> None:
    profile = make_consumer("seed", "model", "dtype")
    with pytest.raises(GuardError) as caught:
        check_guards({"preset": {"dtype": "half"}, "user": {"seed": 3, "model": "m"}}, profile)
    why = (
        "reserved by demo-trainer, failure: silent; {0} must stay in step; "
        "instead: the trainer's {0}"
    )
    assert caught.value.problems == [
        f"dtype='half' (from the preset): {why.format('dtype')}",
        f"seed=3 (from the user): {why.format('seed')}",
        f"model='m' (from the user): {why.format('model')}",
    ]


@pytest.mark.parametrize("name", ["trl-colocate", "trl-online-dpo", "trl-vllm-serve"])
def test_trl_owns_what_its_proposal_reserves(name: str) -> None:
    profile = consumer(name)
    for key in ["tensor_parallel_size", *RESERVED]:
        (line,) = hit(profile, **{key: "x"})
        guard = next(g for g in profile.guards if g.key == key)
        assert line.startswith(f"{key}='x' (from the user): reserved by {name}")
        assert guard.failure in line
        assert guard.instead in line


@pytest.mark.parametrize(
    ("name", "failure"), [("trl-colocate", "hang"), ("trl-online-dpo", "silent")]
)
def test_colocated_trl_owns_parallelism_and_sleep(name: str, failure: str) -> None:
    failures = {g.key: g.failure for g in consumer(name).guards}
    assert failures["tensor_parallel_size"] == failure
    assert failures["enable_sleep_mode"] == "crash"
    (line,) = hit(consumer(name), tensor_parallel_size=2)
    assert "vllm_tensor_parallel_size" in line


@pytest.mark.parametrize("name", [n for n in consumer_names() if n != "unsloth"])
def test_no_consumer_reserves_what_presets_are_made_of(name: str) -> None:
    kwargs = {"hf_overrides": {"architectures": ["X"]}, "language_model_only": True}
    assert not hit(consumer(name), **kwargs)


def test_unsloth_rebuilds_the_trainers_model_from_the_engines_class() -> None:
    (line,) = hit(consumer("unsloth"), hf_overrides={"architectures": ["X"]})
    assert "instead: config.json of the checkpoint" in line


@pytest.mark.parametrize("name", ["llm", "vllm-serve", "vllm-serve-yaml"])
def test_the_engine_itself_reserves_nothing(name: str) -> None:
    assert not hit(consumer(name), **dict.fromkeys([*RESERVED, "tensor_parallel_size"], 1))
