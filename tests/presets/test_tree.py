"""Deep merge and its helpers."""

import copy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from presets.tree import MISSING, copied, deep_merge, dig, holds, is_zero, leaves, lookup

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3))
KEYS = st.sampled_from("abcd")
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES | st.lists(LEAVES, max_size=2),
        lambda inner: st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@given(TREES)
def test_merging_with_nothing_changes_nothing(tree: dict[str, Any]) -> None:
    assert deep_merge(tree, {}) == tree
    assert deep_merge({}, tree) == tree


@given(TREES, TREES, TREES)
def test_merging_is_associative_where_kinds_agree(
    a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]
) -> None:
    # Where b replaces a mapping of a's by a scalar and c puts a mapping there again, (a+b)+c has
    # forgotten a's part and a+(b+c) never hears of b's scalar: the one case that depends on order.
    assume(
        not any(
            isinstance(dig(a, path), dict) and isinstance(dig(c, path), dict)
            for path, value in leaves(b)
            if value != {}
        )
    )
    assert deep_merge(deep_merge(a, b), c) == deep_merge(a, deep_merge(b, c))


@given(TREES, TREES)
def test_inputs_are_left_alone(a: dict[str, Any], b: dict[str, Any]) -> None:
    before = copy.deepcopy((a, b))
    merged = deep_merge(a, b)
    _spoil(merged)
    assert (a, b) == before


@given(TREES, TREES)
def test_the_upper_tree_wins_at_every_leaf(a: dict[str, Any], b: dict[str, Any]) -> None:
    merged = deep_merge(a, b)
    for path, value in leaves(b):
        if value != {}:
            assert dig(merged, path) == value


@given(TREES, TREES)
def test_what_only_the_lower_tree_has_stays(a: dict[str, Any], b: dict[str, Any]) -> None:
    merged = deep_merge(a, b)
    for path, value in leaves(a):
        if dig(b, path[:1]) is MISSING:
            assert dig(merged, path) == value


@given(TREES)
def test_a_tree_holds_in_itself_and_in_what_adds_to_it(tree: dict[str, Any]) -> None:
    assert holds(tree, tree)
    assert holds(tree, {**tree, "new": 1})


def test_a_changed_leaf_does_not_hold() -> None:
    assert not holds({"a": {"b": 1}}, {"a": {"b": 2, "c": 1}})
    assert not holds({"a": {"b": 1}}, {"a": 1})
    assert not holds(["X"], ["X", "Y"])
    assert holds(["X"], ("X",))


def test_lookup_tells_null_from_missing() -> None:
    assert lookup({"a": {"b": None}}, "a.b") is None
    assert lookup({"a": {"b": None}}, "a.b.c") is MISSING
    assert lookup({"a": 1}, "b") is MISSING


def test_zero_is_looked_for_in_depth() -> None:
    assert is_zero({"image": 0, "video": {"count": 0}})
    assert not is_zero({"image": 0, "video": 1})
    assert is_zero(None)
    assert is_zero({})


def test_a_copy_shares_containers_with_nothing_and_callables_with_the_original() -> None:
    class Callable:
        def __call__(self) -> None: ...

        def __deepcopy__(self, memo: object) -> "Callable":
            raise AssertionError("copied")

    function = Callable()
    tree = {"a": [{"b": 1}], "f": function}
    twin = copied(tree)
    _spoil(twin["a"][0])
    assert tree["a"] == [{"b": 1}]
    assert twin["f"] is function


def _spoil(tree: Any) -> None:
    if isinstance(tree, dict):
        for value in tree.values():
            _spoil(value)
        tree["spoilt"] = True
    elif isinstance(tree, list):
        for value in tree:
            _spoil(value)
        tree.append("spoilt")
