"""A preset's overrides and a callable's, composed; on stand-ins for transformers' configs.

``tests/engine/test_overrides.py`` does the same with transformers and vLLM themselves.
"""

import pickle
from typing import Any

import pytest

from presets import ContradictionError, KwargsError
from presets.overrides import ComposedOverrides, apply, is_dummy

NAMES = {"architectures": ["X"]}
ESSENTIAL = {("architectures",): ["X"]}


class PreTrainedConfig:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


class DemoConfig(PreTrainedConfig):
    pass


def compose(then: Any, overrides: Any = None, essential: Any = None) -> ComposedOverrides:
    return ComposedOverrides(overrides or NAMES, then, essential or ESSENTIAL, "demo")


def dummy() -> PreTrainedConfig:
    return PreTrainedConfig(architectures=[""], model_type="dummy_demo")


def scale(config: Any) -> Any:
    config.text_config.scale = 2
    return config


def replace_names(config: Any) -> Any:
    config.architectures = ["Y"]
    return config


def test_the_callable_comes_after_the_mapping() -> None:
    seen = []

    def then(config: Any) -> Any:
        seen.append(config.architectures)
        config.extra = 1
        return config

    config = compose(then)(DemoConfig(architectures=["old"]))
    assert seen == [["X"]]
    assert config.architectures == ["X"]
    assert config.extra == 1


def test_a_mapping_merges_into_a_sub_config_and_replaces_anything_else() -> None:
    config = DemoConfig(
        text_config=DemoConfig(hidden=8, rope={"theta": 1, "type": "default"}, inner={"a": 1}),
        rope_parameters={"theta": 1, "type": "default"},
    )
    apply(
        config,
        {
            "text_config": {"hidden": 16, "rope": {"theta": 2}, "new": {"x": 1}},
            "rope_parameters": {"theta": 2},
            "vocab_size": 5,
        },
    )
    assert config.text_config.hidden == 16
    assert config.text_config.rope == {"theta": 2, "type": "default"}
    assert config.text_config.inner == {"a": 1}
    assert config.text_config.new == {"x": 1}
    assert config.rope_parameters == {"theta": 2}
    assert config.vocab_size == 5


def test_the_configs_of_two_calls_share_nothing() -> None:
    composed = compose(lambda c: c)
    one, two = composed(DemoConfig()), composed(DemoConfig())
    one.architectures.append("spoilt")
    assert two.architectures == ["X"]
    assert composed.overrides == {"architectures": ["X"]}


@pytest.mark.parametrize("error", [AttributeError, KeyError, IndexError, TypeError])
def test_a_callable_may_fail_on_the_dummy(error: type[Exception]) -> None:
    def then(config: Any) -> Any:
        raise error

    config = compose(then)(dummy())
    assert config.model_type == "dummy_demo"
    assert config.architectures == ["X"]


def test_a_callable_that_fails_on_the_real_config_fails() -> None:
    with pytest.raises(AttributeError):
        compose(scale)(DemoConfig(model_type="demo"))


def test_other_errors_on_the_dummy_are_not_hidden() -> None:
    def then(config: Any) -> Any:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        compose(then)(dummy())


def test_what_the_callable_makes_of_the_dummy_is_returned() -> None:
    def then(config: Any) -> Any:
        config.model_type = "other"
        return config

    assert compose(then)(dummy()).model_type == "other"
    assert compose(lambda _: None)(dummy()).model_type == "dummy_demo"


def test_the_dummy_is_recognised_and_nothing_else_is() -> None:
    assert is_dummy(dummy())
    assert not is_dummy(PreTrainedConfig(model_type="gemma"))
    assert not is_dummy(PreTrainedConfig())
    assert not is_dummy(DemoConfig(model_type="dummy_demo"))


def test_essential_values_must_hold_afterwards() -> None:
    with pytest.raises(ContradictionError) as caught:
        compose(replace_names)(DemoConfig())
    (problem,) = caught.value.problems
    assert problem == (
        "hf_overrides.architectures: the preset 'demo' needs ['X'], "
        "and the callable hf_overrides left ['Y']"
    )


def test_the_dummy_is_not_held_to_them() -> None:
    assert compose(replace_names)(dummy()).architectures == ["Y"]


def test_nested_essential_values_are_found_in_configs_and_in_mappings() -> None:
    overrides = {"text_config": {"rope": {"theta": 2}}}
    essential = {("text_config", "rope", "theta"): 2}

    def drop(config: Any) -> Any:
        config.text_config.rope = {}
        return config

    def config() -> DemoConfig:
        return DemoConfig(text_config=DemoConfig(rope={"theta": 1}))

    assert compose(lambda c: c, overrides, essential)(config()).text_config.rope == {"theta": 2}
    with pytest.raises(ContradictionError, match="left nothing there"):
        compose(drop, overrides, essential)(config())
    whole = compose(lambda c: c, overrides, {("text_config",): {"rope": {"theta": 2}}})
    assert whole(config()).text_config.rope == {"theta": 2}


def test_a_callable_that_returns_nothing_is_told_so() -> None:
    with pytest.raises(KwargsError, match="returned None; it must return the config"):
        compose(lambda _: None)(DemoConfig())


def test_it_pickles_when_the_callable_does() -> None:
    twin = pickle.loads(pickle.dumps(compose(scale)))
    assert twin == compose(scale)
    assert twin(DemoConfig(text_config=DemoConfig())).text_config.scale == 2
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(compose(lambda config: config))


def test_it_is_frozen() -> None:
    with pytest.raises(AttributeError):
        compose(scale).then = replace_names  # type: ignore[misc]
