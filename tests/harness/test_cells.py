"""Which claims can be tried here, and what becomes of those that cannot."""

import msgspec
import pytest

from harness.cells import cells
from harness.outcome import Environment
from harness.verify import Verifier
from presets import Preset
from presets.registry import resolve
from presets.schema import Claim

ENVIRONMENT = Environment("0.32.0", "2.13.0", "5.19.0", "0.28.0", "3.11.7", "cpu")
TINY = Claim("gemma4", ">=0.19.0", "wrong", ["https://example.org"])
HUB = Claim("org/name", ">=0.19.0", "wrong", ["https://example.org"], memory_gib=1)


def preset(*claims, **fields):
    file = msgspec.structs.replace(resolve("gemma4-text"), claims=list(claims), **fields)
    return Preset(file, "0.32.0")


@pytest.mark.parametrize(
    ("claim", "changes", "tiny", "hub"),
    [
        (TINY, {}, 1, 0),
        (HUB, {}, 0, 1),
        (TINY, {"device": "cuda"}, 0, 0),
        (TINY, {"vllm": ">=0.33.0"}, 0, 0),
        (TINY, {"vllm": ">=0.19.0,<0.32.0"}, 0, 0),
    ],
)
def test_cells_are_of_the_version_the_device_and_the_kind(claim, changes, tiny, hub):
    made = preset(msgspec.structs.replace(claim, **changes))
    assert len(cells([made], "0.32.0", "cpu", hub=False)) == tiny
    assert len(cells([made], "0.32.0", "cpu", hub=True)) == hub


def test_an_unproven_preset_stands_in_the_table_as_unknown_and_is_a_gpu_jobs_to_try():
    made = preset(HUB, unproven="its class has no CPU kernel")
    (cell,) = cells([made], "0.32.0", "cpu", hub=False)
    entry = Verifier(None, ENVIRONMENT).run(cell)
    assert (entry.verdict, entry.reason) == ("unknown", "its class has no CPU kernel")
    assert entry.checkpoint == "org/name"
    (cell,) = cells([made], "0.32.0", "cuda", hub=True)
    assert cell.unknown == ""
