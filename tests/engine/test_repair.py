"""A preset that sets nothing but hf_overrides, written into the checkpoint by ``presets repair``.

The repairs of faults are proven by their claims.
"""

import msgspec
import pytest

from harness.cells import cells
from presets import Preset
from presets.ranges import base_version, parse_range
from presets.registry import default_vllm, load_all


def repairable():
    """The first claim that the installed engine can try of each such preset, as of a fault with
    the same steps.
    """
    version = default_vllm()
    for file in load_all():
        if file.repair or not file.when or base_version(version) not in parse_range(file.vllm):
            continue
        if steps := Preset(file, version).steps:
            fault = msgspec.structs.replace(file, kwargs=[], repair="presets repair", steps=steps)
            found = cells([Preset(fault, version)], version, "cpu", hub=False)
            yield from [cell for cell in found if cell.claim.expected == "needed"][:1]


@pytest.mark.engine
@pytest.mark.parametrize("cell", list(repairable()), ids=lambda cell: cell.preset.name)
def test_the_repaired_checkpoint_needs_no_kwargs(cell, prove):
    entry = prove(cell)
    assert entry.verdict == "needed", entry.reason
