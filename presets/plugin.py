"""Presets for programs without a knob: applied where vLLM turns its arguments into a config.

``VLLM_PRESET=NAME[,NAME...]`` or ``VLLM_PRESET=auto`` in the environment of any program that has
this package installed, through vLLM's general plugins, or ``with presets.applied(...)`` in Python.
"""

import contextlib
import dataclasses
import functools
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from presets.check import check
from presets.errors import PresetsError
from presets.guards import check_guards
from presets.merge import merge
from presets.registry import bind, consumer, with_kwargs

NAMES = "VLLM_PRESET"
CONSUMER = "VLLM_PRESET_CONSUMER"
AUTO = "auto"
_log = logging.getLogger("vllm.presets")  # below vLLM's own: its handlers, its level


def install() -> None:
    """Make vLLM ask for presets, in this process, whenever it creates an engine's config.

    Does it once; what is applied is read from the environment each time.
    """
    from vllm.engine.arg_utils import EngineArgs

    original = EngineArgs.create_engine_config
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def create_engine_config(self: Any, *args: Any, **kwargs: Any) -> Any:
        apply(self)
        return original(self, *args, **kwargs)

    EngineArgs.create_engine_config = create_engine_config


@contextlib.contextmanager
def applied(*names: str, consumer: str | None = None) -> Iterator[None]:
    """Every engine that is built inside has these presets, or what ``"auto"`` finds.

    For programs that build the engine themselves and have no field for engine arguments; also in
    processes that are started inside, where this package is installed.

    Parameters
    ----------
    names:
        Names or aliases of presets, or ``"auto"``: what ``presets.check`` advises for the
        checkpoint, and nothing where it advises no preset.
    consumer:
        The program, for its guards, e.g. ``"trl-colocate"``. Default: found out for TRL.

    Raises
    ------
    UnknownNameError, FaultError
        Now. When an engine is built, what ``presets.merge`` raises.
    """
    for name in names:
        if name != AUTO:
            with_kwargs(bind(name, None, untested=True))
    install()
    wanted = {NAMES: ",".join(names), CONSUMER: consumer or ""}
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def apply(args: Any) -> None:
    """Put the presets that the environment names into vLLM's ``EngineArgs``.

    What the caller set stays: an argument counts as set where it differs from its default.
    ContradictionError where that is against what a preset exists for, GuardError where the consumer
    must own what it sets. With ``auto`` these, and all that is not sure, are a line of the log.
    """
    wanted = os.environ.get(NAMES, "")
    if getattr(args, "_presets", "") == wanted:
        return
    args._presets = wanted
    for name in filter(None, map(str.strip, wanted.split(","))):
        if name == AUTO:
            _apply_advised(args)
        else:
            _apply(args, name, f"{NAMES}={name}")


def _apply_advised(args: Any) -> None:
    where = f"{args.model}@{args.revision}" if args.revision else args.model
    try:
        found = check(where, _version())
        if found.verdict == "preset" and found.preset:
            _apply(args, found.preset, found.reason)
        elif found.verdict == "fault":
            _log.warning("presets: %s: %s: %s. %s", where, found.code, found.reason, found.fix)
        else:
            _log.info("presets: %s: nothing applied: %s", where, found.reason)
    except PresetsError as error:
        _log.warning("presets: %s: nothing applied: %s", where, error)


def _apply(args: Any, name: str, why: str) -> None:
    preset = with_kwargs(bind(name, _version(), untested=True))
    given = _given(args, {*preset, *(c.key.partition(".")[0] for c in preset.conflicts)})
    merged = merge(preset, given, untested=True)
    if program := _consumer(args):
        check_guards({"preset": dict(preset)}, consumer(program))
    now = {key: merged[key] for key in preset}
    changed = {key: value for key, value in now.items() if value != getattr(args, key)}
    if not changed:
        return
    fresh = dataclasses.replace(args, **changed)  # its __post_init__ makes configs of mappings
    args.__dict__.update(fresh.__dict__)
    kept = [f"{key}={value!r}" for key, value in given.items() if key not in changed]
    _log.info(
        "presets: %s: applied %s (%s): %s%s",
        args.model,
        preset.name,
        why,
        ", ".join(f"{key}={value!r}" for key, value in changed.items()),
        f"; left alone: {', '.join(kept)}" if kept else "",
    )


def _given(args: Any, keys: Iterable[str]) -> dict[str, Any]:
    """Those of the arguments that somebody set: that differ from their default."""
    found = {}
    for field in dataclasses.fields(args):
        if field.name in keys:
            factory = field.default_factory
            default = field.default if factory is dataclasses.MISSING else factory()
            if (value := getattr(args, field.name)) != default:
                found[field.name] = value
    return found


def _consumer(args: Any) -> str | None:
    """Who builds the engine: as the environment says, or TRL where it does it in its own way."""
    trl = "trl" in sys.modules and args.distributed_executor_backend == "external_launcher"
    return os.environ.get(CONSUMER) or ("trl-colocate" if trl else None)


def _version() -> str:
    import vllm

    return str(vllm.__version__.partition("+")[0])
