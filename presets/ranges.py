"""Half-open ranges of vLLM versions, ``>=A`` or ``>=A,<B``.

The grammar is closed on purpose: with half-open intervals "no overlap" and "no gap" are
one comparison each, and every bound is a release somebody can name.
"""

import functools
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from presets.errors import UnsupportedVersionError

_FORM = re.compile(r"^>=(?P<low>[^,<>=\s]+)(?:,\s*<(?P<high>[^,<>=\s]+))?$")


class Range(NamedTuple):
    """``low <= version < high``; ``high`` is None where the range is open."""

    low: Version
    high: Version | None

    def __contains__(self, version: object) -> bool:
        return isinstance(version, Version) and (
            self.low <= version and (self.high is None or version < self.high)
        )

    def __str__(self) -> str:
        return f">={self.low}" + (f",<{self.high}" if self.high else "")


@functools.lru_cache(maxsize=512)
def parse_range(text: str) -> Range:
    """Parse ``">=0.19.0"`` or ``">=0.19.0,<0.24.0"``; ValueError on anything else."""
    match = _FORM.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version range: write '>=A' or '>=A,<B'")
    try:
        low = Version(match["low"])
        high = Version(match["high"]) if match["high"] else None
    except InvalidVersion as error:
        raise ValueError(f"{text!r} is not a version range: {error}") from None
    if high is not None and high <= low:
        raise ValueError(f"{text!r} is empty: {high} is not above {low}")
    return Range(low, high)


@functools.lru_cache(maxsize=512)
def base_version(text: str) -> Version:
    """The release that a version belongs to: a pre-release, nightly or local build of
    0.32.0 compares as 0.32.0. UnsupportedVersionError if ``text`` is no version.
    """
    try:
        return Version(Version(text).base_version)
    except InvalidVersion:
        raise UnsupportedVersionError(f"vllm: {text!r} is not a version, e.g. '0.32.0'") from None


def overlaps(ranges: Iterable[Range]) -> list[tuple[Range, Range]]:
    """Every pair of ranges that share a version, for ranges in any order."""
    ordered = sorted(ranges, key=lambda r: (r.low, r.high is None, r.high or r.low))
    return [
        (a, b)
        for i, a in enumerate(ordered)
        for b in ordered[i + 1 :]
        if a.high is None or b.low < a.high
    ]


def gaps(ranges: Iterable[Range], window: Range) -> list[Range]:
    """The parts of ``window`` that no range covers, for ranges that do not overlap."""
    ordered = sorted(ranges, key=lambda r: r.low)
    if not ordered:
        return [window]
    found = []
    if window.low < ordered[0].low:
        found.append(Range(window.low, ordered[0].low))
    for a, b in pairwise(ordered):
        if a.high is not None and a.high < b.low:
            found.append(Range(a.high, b.low))
    last = ordered[-1].high
    if last is not None and (window.high is None or last < window.high):
        found.append(Range(last, window.high))
    return found
