"""Kwargs from mappings, from JSON text, and from settings on a command line."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presets import KwargsError
from presets.kwargs import parse_kwargs, parse_set
from presets.tree import lookup

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
# No name here is an argument of the engine, so that no value is read as JSON a second time.
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


@given(OBJECTS)
def test_json_text_reads_back_as_it_was_written(kwargs: dict[str, Any]) -> None:
    assert parse_kwargs(json.dumps(kwargs)) == kwargs


@given(OBJECTS)
def test_a_mapping_reads_as_itself(kwargs: dict[str, Any]) -> None:
    assert parse_kwargs(kwargs) == kwargs


@given(VALUES)
def test_an_argument_that_takes_an_object_may_be_text(value: Any) -> None:
    overrides = {"key": value}
    assert parse_kwargs({"hf_overrides": json.dumps(overrides)}) == {"hf_overrides": overrides}


@given(st.text() | st.text(alphabet='{}[]":,0123456789.eE+-tfnulN aI\\'))
def test_any_text_is_read_or_refused_with_one_kind_of_error(text: str) -> None:
    try:
        kwargs = parse_kwargs(text)
    except KwargsError:
        return
    assert kwargs == json.loads(text)


@given(st.text() | st.text(alphabet='ab.={}[]":,0123456789tfnul'))
def test_any_setting_is_read_or_refused_with_one_kind_of_error(text: str) -> None:
    try:
        kwargs = parse_set([text])
    except KwargsError:
        return
    key, _, value = text.partition("=")
    assert lookup(kwargs, key.strip()) == json.loads(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad JSON at line 1 column 1: Expecting value"),
        ('{"a": 1,\n "b" 2}', "bad JSON at line 2 column 6: Expecting ':' delimiter"),
        ("{'a': 1}", "bad JSON at line 1 column 2"),
        ('{"a": 1, "a": 2}', "bad JSON: duplicate key 'a'"),
        ('{"a": {"b": 1, "b": 1}}', "bad JSON: duplicate key 'b'"),
        ('{"a": NaN}', "bad JSON: NaN is not a JSON number"),
        ('{"a": -Infinity}', "bad JSON: -Infinity is not a JSON number"),
        ('{"a": 1e999}', "bad JSON: 1e999 is too large"),
        ('{"a": ' + "9" * 5000 + "}", "bad JSON: "),
        ("[" * 100_000, "bad JSON: nested too deeply"),
        ("[1]", "expected a JSON object, got a JSON array"),
        ('"x"', "expected a JSON object, got a JSON string"),
        ("null", "expected a JSON object, got a JSON null"),
        ("true", "expected a JSON object, got a JSON boolean"),
        ("1.5", "expected a JSON object, got a JSON number"),
    ],
)
def test_bad_text_is_refused_with_what_and_where(text: str, message: str) -> None:
    with pytest.raises(KwargsError) as caught:
        parse_kwargs(text)
    assert str(caught.value).startswith(f"engine kwargs: {message}")
    if text:
        with pytest.raises(KwargsError):
            parse_kwargs({"hf_overrides": text})


@pytest.mark.parametrize("value", [[("a", 1)], 3, b"{}"])
def test_what_is_no_mapping_is_refused(value: Any) -> None:
    with pytest.raises(KwargsError, match="expected a mapping or a JSON object, got"):
        parse_kwargs(value)


def test_a_key_that_is_no_string_is_refused() -> None:
    with pytest.raises(KwargsError, match="keys must be strings, got 1, None"):
        parse_kwargs({1: 1, "a": 1, None: 2})  # type: ignore[dict-item]


def test_text_for_an_argument_is_read_only_where_it_takes_an_object() -> None:
    template = '{"not": "JSON for us"}'
    kwargs = {"chat_template": template, "tokenizer": template, "pt_load_map_location": "cpu"}
    assert parse_kwargs(kwargs) == kwargs
    assert parse_kwargs({"pt_load_map_location": '{"cuda:0": "cpu"}'}) == {
        "pt_load_map_location": {"cuda:0": "cpu"}
    }


@pytest.mark.parametrize("text", ["Gemma4ForCausalLM", "", "[1]", "null"])
def test_text_that_is_no_object_is_refused_where_only_an_object_will_do(text: str) -> None:
    with pytest.raises(KwargsError, match=r"^hf_overrides: expected a JSON object, got the string"):
        parse_kwargs({"hf_overrides": text})


def test_bad_text_in_an_argument_names_it() -> None:
    with pytest.raises(KwargsError, match=r"^hf_overrides: bad JSON at line 1 column 2: "):
        parse_kwargs({"hf_overrides": "{x}"})


def test_nothing_is_no_kwargs() -> None:
    assert parse_kwargs(None) == parse_kwargs({}) == parse_kwargs("{}") == {}


def test_the_result_shares_nothing_with_the_input_but_callables() -> None:
    def override(config: Any) -> Any:
        return config

    given_kwargs = {"hf_overrides": override, "limit_mm_per_prompt": {"image": {"count": 0}}}
    parsed = parse_kwargs(given_kwargs)
    parsed["limit_mm_per_prompt"]["image"]["count"] = 9
    assert given_kwargs["limit_mm_per_prompt"] == {"image": {"count": 0}}
    assert parsed["hf_overrides"] is override


def test_settings_nest_by_their_dots_and_merge() -> None:
    assert parse_set(
        [
            "hf_overrides.max_position_embeddings=4096",
            'hf_overrides={"architectures": ["X"]}',
            "enforce_eager=true",
            'dtype="bfloat16"',
            'x.y.z=a=b"'.replace('a=b"', '"a=b"'),
        ]
    ) == {
        "hf_overrides": {"max_position_embeddings": 4096, "architectures": ["X"]},
        "enforce_eager": True,
        "dtype": "bfloat16",
        "x": {"y": {"z": "a=b"}},
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["dtype=bfloat16"], "dtype: bad JSON at line 1 column 1.*a string needs double quotes"),
        (["dtype"], "dtype: write KEY=JSON"),
        (["=1"], "=1: write KEY=JSON"),
        (["a..b=1"], "a..b=1: write KEY=JSON"),
        (["a=1", "a=1"], "a: set twice"),
        (["a.b=1", "a.b=2"], "a.b: set twice"),
        (["a.b=1", "a=2"], "a: set twice"),
        (["a=NaN"], "a: bad JSON: NaN"),
    ],
)
def test_bad_settings_are_refused(settings: list[str], message: str) -> None:
    with pytest.raises(KwargsError, match=message):
        parse_set(settings)


def test_all_bad_settings_are_reported_at_once() -> None:
    with pytest.raises(KwargsError) as caught:
        parse_set(["a", "b=x", "c=1", "c=2"])
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == ["a", "b", "c"]
