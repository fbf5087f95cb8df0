"""Find presets by name, alias, family or architecture."""

import contextlib
import difflib
import functools
import os
import re
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import msgspec
from packaging.version import Version

from presets.errors import FaultError, RemoteCodeError, UnknownNameError, UnsupportedVersionError
from presets.preset import Preset
from presets.ranges import base_version, parse_range
from presets.schema import ConsumerFile, PresetFile
from presets.validate import read_consumer, read_preset

DATA = Path(__file__).parent / "data"
_DIST_INFO = re.compile(r"^vllm(?:_cpu)?-(?P<version>\d[^-]*)\.dist-info$", re.IGNORECASE)


@functools.cache
def _preset_file(name: str) -> PresetFile:
    return read_preset(DATA / "presets" / f"{name}.toml", shipped=True)


@functools.cache
def consumer(name: str) -> ConsumerFile:
    """The profile of a consumer; UnknownNameError suggests the nearest names."""
    _require(name, consumer_names(), "consumer")
    profile = read_consumer(DATA / "consumers" / f"{name}.toml")
    if profile.coming and _declares(profile.coming.file, profile.coming.knob):
        return msgspec.structs.replace(profile, form="python", knob=profile.coming.knob)
    return profile


def _declares(file: str, field: str) -> bool:
    """Whether an installed package declares a field. Read, not imported: that takes seconds."""
    for folder in sys.path:
        with contextlib.suppress(OSError):
            text = (Path(folder) / file).read_text(encoding="utf-8")
            return re.search(rf"^\s+{field}\s*:", text, re.MULTILINE) is not None
    return False


def names() -> list[str]:
    """The names of all presets and faults, sorted."""
    return list(_stems("presets"))


def consumer_names() -> list[str]:
    """The names of all consumers, sorted."""
    return list(_stems("consumers"))


@functools.cache
def engine_versions() -> tuple[str, ...]:
    """The vLLM versions whose facts were recorded, oldest first."""
    return tuple(sorted((p.stem for p in (DATA / "engines").glob("*.json")), key=Version))


def installed_vllm() -> str | None:
    """The version of the installed vLLM (or of its CPU build), None if there is none.

    Reads folder names on ``sys.path``: importing ``importlib.metadata`` alone would take
    longer than the whole budget of ``get``, and importing vLLM takes ten seconds.
    """
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            if match := _DIST_INFO.match(entry):
                return match["version"]
    return None


def default_vllm() -> str:
    """The installed vLLM version, or the newest recorded one when none is installed."""
    return installed_vllm() or engine_versions()[-1]


def get(
    name: str,
    vllm: str | None = None,
    *,
    untested: bool = False,
    trust_remote_code: bool = False,
) -> Preset:
    """The preset of that name or alias, for a vLLM version.

    Parameters
    ----------
    name:
        A preset's name or alias, e.g. ``"gemma4-text"``.
    vllm:
        A vLLM version, e.g. ``"0.24.0"``. Default: the installed one, or the newest recorded
        one when none is installed. Pre-releases and nightlies count as their release.
    untested:
        Accept a version newer than the newest one whose facts were recorded.
    trust_remote_code:
        Opt in to a preset that makes the engine run code from the checkpoint.

    Raises
    ------
    UnknownNameError, UnsupportedVersionError, FaultError, RemoteCodeError
    """
    preset = with_kwargs(bind(name, vllm, untested=untested))
    if preset.get("trust_remote_code") and not trust_remote_code:
        raise RemoteCodeError(
            f"preset {preset.name!r} sets trust_remote_code=True, which runs Python code from "
            "the checkpoint; pass trust_remote_code=True (--trust-remote-code) to allow it"
        )
    return preset


def bind(preset: str | Preset, vllm: str | None, *, untested: bool = False) -> Preset:
    """A preset, or the one of that name or alias, for a vLLM version; remote code not checked.

    ``vllm`` defaults to the preset's own version, and for a name as in ``get``.
    """
    if isinstance(preset, str):
        bound = Preset(resolve(preset), vllm or default_vllm())
    else:
        bound = preset.for_version(vllm or preset.vllm)
    newest = engine_versions()[-1]
    if bound is not preset and not untested and base_version(bound.vllm) > Version(newest):
        raise UnsupportedVersionError(
            f"preset {bound.name!r} was not tried on vLLM {bound.vllm}: known are "
            f"{bound.window}, up to {newest}; pass untested=True (--untested) to use it anyway"
        )
    return bound


def with_kwargs(preset: Preset) -> Preset:
    """The preset itself; FaultError if it is a fault."""
    if preset.repair:
        raise FaultError(
            f"{preset.name}: {preset.summary} No engine argument repairs it. {preset.repair}"
        )
    return preset


def find(
    text: str | None = None,
    *,
    family: str | None = None,
    alias: str | None = None,
    architecture: str | None = None,
    vllm: str | None = None,
    trust_remote_code: bool = False,
    faults: bool = False,
) -> list[Preset]:
    """All presets that meet every criterion given, sorted by name; ``faults`` adds the faults.

    Those that set ``trust_remote_code=True`` are left out unless the caller opts in.

    ``text`` is looked for in name, aliases and summary, ignoring case; ``architecture`` is one
    that the preset sets or that its condition asks for. A preset which is not offered for
    ``vllm`` (default: as for ``get``) is bound to the newest recorded version it is offered for.
    """
    found = []
    for file in map(_preset_file, names()):
        known = [file.name, *file.aliases, *file.deprecated_aliases]
        words = " ".join([*known, file.summary]).lower()
        if (
            (text is None or text.lower() in words)
            and (family is None or family == file.family)
            and (alias is None or alias in known)
            and (architecture is None or architecture in _architectures(file))
        ):
            found.append(Preset(file, offered(file, vllm)))
    return [
        p
        for p in found
        if (faults or not p.repair) and (trust_remote_code or not p.get("trust_remote_code"))
    ]


def resolve(name: str) -> PresetFile:
    """The file of a preset's name or alias; UnknownNameError suggests the nearest names."""
    # One file is read for a name; all of them only for an alias or a mistake.
    if name in names():
        return _preset_file(name)
    files = [_preset_file(n) for n in names()]
    for file in files:
        if name in file.aliases:
            return file
        if name in file.deprecated_aliases:
            message = f"preset {name!r} is now called {file.name!r}"
            warnings.warn(message, DeprecationWarning, stacklevel=4)
            return file
    _require(name, [n for f in files for n in (f.name, *f.aliases)], "preset")
    raise AssertionError("unreachable: an unknown name raises above")


def _require(name: str, known: Iterable[str], what: str) -> None:
    known = sorted(known)
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are: {', '.join(known)}"
    raise UnknownNameError(f"there is no {what} {name!r}; {hint}")


def _architectures(file: PresetFile) -> set[str]:
    named = {a for condition in file.when for a in condition.architectures}
    for block in file.kwargs:
        overrides = block.engine.get("hf_overrides", {})
        named.update(overrides.get("architectures", []))
    return named


def offered(file: PresetFile, vllm: str | None = None) -> str:
    """The version itself (default: as for ``get``) where the preset is offered for it, else the
    newest recorded one for which it is.
    """
    vllm = vllm or default_vllm()
    window = parse_range(file.vllm)
    if base_version(vllm) in window:
        return vllm
    recorded = [v for v in engine_versions() if Version(v) in window]
    return recorded[-1] if recorded else str(window.low)


@functools.cache
def _stems(kind: str) -> tuple[str, ...]:
    return tuple(sorted(p.stem for p in (DATA / kind).glob("*.toml")))


def load_all() -> list[PresetFile]:
    """Every preset file, decoded; DataError for the first invalid one."""
    return [_preset_file(name) for name in names()]
