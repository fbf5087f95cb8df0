"""The table of all presets, as the docs have it."""

from collections import Counter
from collections.abc import Sequence

from presets.evidence import Evidence, evidence, recorded_versions
from presets.preset import Preset
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
