"""The table of all presets, and the facts that their conditions ask for, as the docs have them."""

import ast
import inspect
from collections import Counter
from collections.abc import Sequence
from typing import get_args

from presets import schema
from presets.evidence import Evidence, evidence, recorded_versions
from presets.preset import Preset
from presets.registry import load_all
from presets.render import as_json

HEAD = """\
# Presets and faults

Written by `presets list --format markdown`; do not edit. The kwargs are those for the newest vLLM
version that the preset is offered for, the verdict is that of the records of vLLM {newest}: what
the harness saw on the CPU, with tiny checkpoints or small real ones. `unknown` means that nothing
ran there; `presets show NAME` says why, and has the claims and every source.

{counts}.

| name | family | when | kwargs, or the repair | vLLM | verdict | source |
|---|---|---|---|---|---|---|
"""

FACTS = """\
# Facts

Written by `presets explain --facts`; do not edit. What a condition (`[[when]]`) of a preset or a
fault may ask of a checkpoint, and nothing else; all must hold, and one left out is not asked.

| fact | holds where |
|---|---|
{facts}
`marks` are what is wrong with the files whatever the family. One that no fault asks for is only a
reason for `unknown`: the engine may load such a checkpoint.

| mark | asked for by |
|---|---|
{marks}"""


def facts_markdown() -> str:
    """The closed vocabulary: every field of ``Condition`` in its own words, and every mark."""
    body = ast.parse(inspect.getsource(schema.Condition)).body[0]
    assert isinstance(body, ast.ClassDef)
    facts = []
    for field, said in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(said, ast.Expr):
            name, words = ast.unparse(field.target), ast.literal_eval(said.value)
            if name != "code":
                facts.append((f"`{name}`", words.replace("``", "`")))
    asking: dict[str, set[str]] = {mark: set() for mark in get_args(schema.Mark)}
    for file in load_all():
        for mark in (mark for condition in file.when for mark in condition.marks):
            asking[mark].add(f"`{file.name}`")
    marks = [(f"`{mark}`", ", ".join(sorted(by)) or "none") for mark, by in asking.items()]
    return FACTS.format(facts=_rows(facts), marks=_rows(marks))


def _rows(pairs: Sequence[tuple[str, str]]) -> str:
    return "".join(f"| {name} | {' '.join(text.split())} |\n" for name, text in pairs)


def markdown(presets: Sequence[Preset]) -> str:
    """One row a preset, under a head that explains the columns."""
    found = {preset.name: evidence(preset) for preset in presets}
    counted = Counter(e.verdict for e in found.values())
    families = len({preset.family for preset in presets})
    counts = f"{len(presets)} for {families} families: " + ", ".join(
        f"{n} {verdict}" for verdict, n in counted.most_common()
    )
    newest = recorded_versions()[-1]
    rows = "".join(_row(preset, found[preset.name], newest) for preset in presets)
    return HEAD.format(newest=newest, counts=counts) + rows


def _row(preset: Preset, found: Evidence, newest: str) -> str:
    when = dict.fromkeys(condition.why for condition in preset.when)
    cells = (
        f"`{preset.name}`",
        preset.family,
        "; ".join(when) or f"wanted: {preset.intent}",
        preset.repair or f"`{as_json(dict(preset))}`",
        f"`{preset.window}`",
        found.verdict if found.vllm in ("", newest) else f"{found.verdict} on {found.vllm}",
        f"[source]({preset.sources[0]})",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
