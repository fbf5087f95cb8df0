"""Version ranges: the grammar, and that gaps and overlaps are found, always and only then."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from presets import UnsupportedVersionError
from presets.ranges import Range, base_version, gaps, overlaps, parse_range

VERSIONS = st.builds(lambda a, b, c: Version(f"{a}.{b}.{c}"), *[st.integers(0, 40)] * 3)


@st.composite
def partitions(draw: st.DrawFn) -> tuple[list[Range], Range]:
    """A window and ranges that cover it once, in any order."""
    bounds = sorted(draw(st.sets(VERSIONS, min_size=3, max_size=8)))
    open_end = draw(st.booleans())
    ranges = [Range(a, b) for a, b in pairwise(bounds)]
    if open_end:
        ranges.append(Range(bounds[-1], None))
    return draw(st.permutations(ranges)), Range(bounds[0], None if open_end else bounds[-1])


@pytest.mark.parametrize("text", [">=0.19.0", ">=0.19.0,<0.24.0"])
def test_a_range_prints_as_it_was_written(text: str) -> None:
    assert str(parse_range(text)) == text


@pytest.mark.parametrize(
    "text", ["", "0.19", "==0.19", "<0.19", ">=0.19,<0.20,<0.21", ">=x", ">=0.2,<=0.3", ">=0.19 ,"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version range"):
        parse_range(text)


@pytest.mark.parametrize("text", [">=0.24,<0.24", ">=0.24,<0.19"])
def test_an_empty_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is empty"):
        parse_range(text)


def test_the_lower_bound_is_inside_and_the_upper_one_is_not() -> None:
    window = parse_range(">=0.19.0,<0.24.0")
    inside = ["0.19", "0.19.0", "0.23.9"]
    assert [Version(v) in window for v in inside] == [True] * 3
    assert [Version(v) in window for v in ["0.18.9", "0.24.0", "1.0"]] == [False] * 3


@pytest.mark.parametrize(
    "text", ["0.32.0", "0.32.0rc1", "0.32.0.dev4+g1234", "0.32.0+cpu", "0.32.0.post1"]
)
def test_a_build_counts_as_its_release(text: str) -> None:
    assert base_version(text) == Version("0.32.0")


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersionError, match="'latest' is not a version"):
        base_version("latest")


@given(partitions())
def test_a_partition_has_no_overlap_and_no_gap(case: tuple[list[Range], Range]) -> None:
    ranges, window = case
    assert overlaps(ranges) == []
    assert gaps(ranges, window) == []


@given(partitions(), st.data())
def test_a_dropped_range_is_the_gap(case: tuple[list[Range], Range], data: st.DataObject) -> None:
    ranges, window = case
    dropped = data.draw(st.sampled_from(ranges))
    assert gaps([r for r in ranges if r != dropped], window) == [dropped]


@given(partitions(), st.data())
def test_a_lowered_bound_is_an_overlap(
    case: tuple[list[Range], Range], data: st.DataObject
) -> None:
    ranges, window = case
    moved = data.draw(st.sampled_from([r for r in ranges if r.low != window.low]))
    others = [r for r in ranges if r != moved]
    before = next(r for r in others if r.high == moved.low)
    found = overlaps([*others, Range(before.low, moved.high)])
    assert (before, Range(before.low, moved.high)) in found or (
        Range(before.low, moved.high),
        before,
    ) in found


@given(partitions(), VERSIONS)
def test_every_version_of_the_window_is_in_one_range(
    case: tuple[list[Range], Range], version: Version
) -> None:
    ranges, window = case
    assert sum(version in r for r in ranges) == (version in window)
