"""Which preset or fault the engine's error text in a log means.

A log is read line by line: at most its last 64 MiB, in pieces of at most 16 KiB of text. What wraps
the engine's text (colours, prefixes of processes and loggers, line breaks, JSON escapes) is taken
off, and white space and backslashes on both sides are ignored.
"""

import functools
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Literal

from msgspec import Struct, field

from presets.check import advice
from presets.errors import UnsupportedVersionError
from presets.registry import DATA, bind, default_vllm, load_all
from presets.schema import PresetFile

TAIL = 64 * 2**20
"""Bytes of a log that are read, from its end."""
PIECE = 16 * 2**10
"""Bytes of a line that are read at once, and half the text that the patterns see at once."""
DECIDES = "the files of the checkpoint tell which: presets check CKPT"

_ANSI = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033)\[[0-9;]{0,20}[A-Za-z]")
_PREFIX = re.compile(
    r"\s*(?:"
    r"\([\w.:-]{1,80}(?: [\w.:=-]{1,80}){0,4}\)"  # (EngineCore pid=1), (Worker TP0 pid=2), (pid=3)
    r"|\[(?:rank)?\d+\]:?"
    r"|[│|┃](?=\s)"
    r")"
)
_LOGGER = re.compile(
    r"\s*(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d [\d:]{8} \[[^\]]{1,200}\]"
)
_ESCAPES = re.compile(r"\\[nrt]")
_DROPPED = re.compile(r"[\s\\│┃]+")
_CLASS = re.compile(r"\b[A-Z]\w{2,79}\b")
_VERSION = re.compile(r"LLM engine \(v(\d{1,4}(?:\.\d{1,4}){1,3})")


class Candidate(Struct, frozen=True):
    """One preset or fault that a text may mean."""

    verdict: Literal["preset", "fault"]
    code: str
    summary: str
    fix: str
    """As in ``presets.check.Finding``."""


class Match(Struct, frozen=True):
    """An error text that claims declare, where the log first has it."""

    line: int
    """Where the text is, or the last line read with it where it runs over several; from 1, counted
    in what was read."""
    text: str
    error: str
    """The regular expression of the claims."""
    stages: list[str]
    candidates: list[Candidate]
    """The likeliest first."""
    distinguishes: str
    """How to tell several candidates apart; empty for one."""


class FollowUp(Struct, frozen=True):
    """An error text that is never the cause."""

    line: int
    text: str
    why: str
    source: str


class Recognised(Struct, frozen=True):
    """What a log says; ``matches`` is empty where nothing was recognised."""

    vllm: str
    matches: list[Match]
    """The most specific first."""
    follow_ups: list[FollowUp]
    skipped: int
    """Bytes before the tail that was read."""

    @property
    def candidates(self) -> list[Candidate]:
        """All of them once, in order."""
        found = {c.code: c for match in reversed(self.matches) for c in reversed(match.candidates)}
        return list(reversed(found.values()))


class _Entry(Struct, frozen=True):
    error: str
    why: str
    source: str


class _Seen(Struct):
    """What was found so far."""

    errors: dict[str, tuple[int, str]] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    version: str = ""


class Pattern:
    """A declared error text, searched in squeezed text in linear time: the parts around ``.*`` one
    after the other, as ``re`` alone would try every pair of places.
    """

    def __init__(self, error: str) -> None:
        self._parts = [re.compile(_squeezed_pattern(part)) for part in error.split(".*")]

    def search(self, text: str) -> tuple[int, int] | None:
        """Start and end of a match, None if there is none."""
        start, end = -1, 0
        for part in self._parts:
            found = part.search(text, end)
            if found is None:
                return None
            start = found.start() if start < 0 else start
            end = found.end()
        return start, end


def recognise(log: BinaryIO, vllm: str | None = None, consumer: str | None = None) -> Recognised:
    """What a log says: bytes of any kind, a file or a pipe.

    ``vllm`` defaults to the version that the log names, then as in ``presets.get``.
    """
    skipped = _to_tail(log)
    seen = _scan(log)
    version = vllm or seen.version or default_vllm()
    matches = []
    for error, presets in _declared().items():
        if error not in seen.errors:
            continue
        ranked = sorted(presets, key=lambda file: (_named(file, seen.classes), file.name))
        candidates = list(_candidates(ranked, version, consumer))
        if candidates:
            unlike = min(_named(file, seen.classes) for file in ranked)
            rank = (unlike, len(candidates), -len(error))
            line, text = seen.errors[error]
            stages = sorted({s for file in presets for s in _stages(file, error)})
            several = DECIDES if len(candidates) > 1 else ""
            matches.append((rank, Match(line, text, error, stages, candidates, several)))
    matches.sort(key=lambda entry: entry[0])
    follow_ups = [
        FollowUp(*seen.errors[entry.error], entry.why, entry.source)
        for entry in followups()
        if entry.error in seen.errors
    ]
    return Recognised(version, [match for _, match in matches], follow_ups, skipped)


@functools.cache
def followups() -> tuple[_Entry, ...]:
    """The texts of data/followups.toml."""
    rows = tomllib.loads((DATA / "followups.toml").read_text("utf-8"))["followups"]
    return tuple(_Entry(**row) for row in rows)


def squeeze(text: str) -> str:
    """Text without white space, escapes and the sides of a box."""
    return _DROPPED.sub("", _ESCAPES.sub("", text))


def unwrap(line: str) -> tuple[str, str]:
    """A line without colours and prefixes, and the level that vLLM's logger gave it, or ""."""
    line, level = _ANSI.sub("", line), ""
    end = 0
    while found := _PREFIX.match(line, end) or _LOGGER.match(line, end):
        level = found.groupdict().get("level") or level
        end = found.end()
    return line[end:], level


def _scan(log: BinaryIO) -> _Seen:
    seen, known = _Seen(), _known_classes()
    wanted = {error: Pattern(error) for error in (*_declared(), *(e.error for e in followups()))}
    before, size, number, left = "", 0, 1, TAIL
    now: list[tuple[int, str]] = []

    def search() -> str:
        text = squeeze("".join(line for _, line in now))
        window = before + text
        for error, pattern in list(wanted.items()):
            if found := pattern.search(window):
                seen.errors[error] = _shown(now, window[slice(*found)])
                del wanted[error]
        return window[-PIECE:]

    while left > 0 and (raw := log.readline(min(PIECE, left))):
        left -= len(raw)
        line, level = unwrap(raw.decode("utf-8", "replace"))
        seen.classes.update(known.intersection(_CLASS.findall(line)))
        if not seen.version and (found := _VERSION.search(line)):
            seen.version = found[1]
        if level not in ("DEBUG", "INFO", "WARNING"):  # those are no errors
            now.append((number, line))
            size += len(line)
        if size >= PIECE:
            before, now, size = search(), [], 0
        number += raw.endswith(b"\n")
    search()
    return seen


def _shown(lines: list[tuple[int, str]], squeezed: str) -> tuple[int, str]:
    """Number and text of the line of a match, or of the last line and the match itself where it
    runs over several; printable, 300 characters.
    """
    last = lines[-1][0] if lines else 1
    same = ((number, line) for number, line in lines if squeezed in squeeze(line))
    number, text = next(same, (last, squeezed))
    text = "".join(c if c.isprintable() else " " for c in text.strip())
    return number, text if len(text) <= 300 else f"{text[:297]}..."


def _squeezed_pattern(error: str) -> str:
    return error.replace(r"\s+", "").replace(" ", "")


def _to_tail(log: BinaryIO) -> int:
    """Move to the part of a file that is read; the bytes skipped. A pipe is read from its start."""
    if not log.seekable():
        return 0
    skipped = max(0, log.seek(0, os.SEEK_END) - TAIL)
    log.seek(skipped)
    return skipped


@functools.cache
def _declared() -> dict[str, list[PresetFile]]:
    """Error text of a failing control -> the presets and faults that declare it."""
    found: dict[str, list[PresetFile]] = {}
    for file in load_all():
        for claim in file.claims:
            if not isinstance(claim.control, str):
                files = found.setdefault(claim.control.error, [])
                if file not in files:
                    files.append(file)
    return found


def _stages(file: PresetFile, error: str) -> Iterator[str]:
    for claim in file.claims:
        if not isinstance(claim.control, str) and claim.control.error == error:
            yield claim.control.stage


@functools.cache
def _known_classes() -> frozenset[str]:
    return frozenset(a for file in load_all() for c in file.when for a in c.architectures if a)


def _named(file: PresetFile, classes: set[str]) -> int:
    """0: the log names a class that the preset asks for; 1: none is asked for, or none is named;
    2: only others are named.
    """
    asked = {a for condition in file.when for a in condition.architectures}
    if not asked or not classes:
        return 1
    return 0 if asked & classes else 2


def _candidates(
    files: Iterable[PresetFile], vllm: str, consumer: str | None
) -> Iterator[Candidate]:
    """Those that are offered for the version."""
    for file in files:
        try:
            preset = bind(file.name, vllm, untested=True)
        except UnsupportedVersionError:
            continue
        verdict: Literal["preset", "fault"] = "fault" if file.repair else "preset"
        yield Candidate(verdict, file.name, file.summary, advice(preset, consumer))
