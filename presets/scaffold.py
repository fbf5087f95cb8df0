"""The file that a new preset starts from: every field it needs, with what belongs there."""

import contextlib
from pathlib import Path

import msgspec

from presets.errors import DataError, UnknownNameError
from presets.registry import DATA, engine_versions, resolve
from presets.schema import Name

TEMPLATE = """\
name = "{name}"          # this file's name, without .toml
family = ""              # the model family, as in `presets list`: "gemma4"
summary = ""             # one sentence: what is wrong with the checkpoint, and what repairs it
vllm = ">={newest}"        # the vLLM versions it is offered for: ">=A" or ">=A,<B", where it ran
essential = ["hf_overrides.architectures"]  # what it exists for: a user may not contradict it
sources = []             # links: the issue, the pull request, the source line at a tag

# When a checkpoint needs it. Each [[when]] is one way to be broken; all its facts must hold, and
# none may hold for a healthy checkpoint. Facts: presets/schema.py, class Condition.
# Can the files not show it? Then delete this and write  intent = "what the user wants"  above.
[[when]]
why = ""                 # a few words, shown to the user: "no vision weights were saved"
architectures = []       # the first class that config.json declares is one of these
# no_tensors = ["model.vision_tower."]

# What to pass to the engine. One block a range of versions, without gap or overlap.
# Does no engine argument help? Then delete this and `essential`, and write
# repair = "what to do to the checkpoint"  above: a fault.
[[kwargs]]
vllm = ">={newest}"
engine.hf_overrides.architectures = []

# What the harness proves, without and with it. At least one claim must come out "needed".
[[claims]]
checkpoint = ""          # a tiny family (harness/tiny/), or a Hub repository, "org/name"
defects = []             # what is wrong with it, in order: harness/tiny/defects.py
vllm = ">={newest}"
control = {{ stage = "load", error = "" }}  # where it fails without the preset, and with which text
                         # (a regular expression); or "wrong": it answers, but not rightly.
                         # Not known yet? Write "not known yet" and run harness verify: it tells.
sources = []             # a link that says so
"""


def new(name: str, folder: Path | None = None) -> Path:
    """Write ``NAME.toml`` for somebody to fill in, and return its path.

    ``folder`` defaults to that of the shipped presets. DataError if there is such a file, or if
    the name is no name for a preset or is taken.
    """
    path = (folder or DATA / "presets") / f"{name}.toml"
    with contextlib.suppress(UnknownNameError):
        raise DataError([f"{name}: taken, by the preset {resolve(name).name!r}"])
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError:
        raise DataError([f"{name}: not a name: lower case words, joined by '-' or '.'"]) from None
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.format(name=name, newest=engine_versions()[-1]))
    except OSError as error:
        raise DataError([f"{path}: {error.strerror or error}"]) from None
    return path
