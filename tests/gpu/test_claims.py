"""Every claim on a Hub checkpoint, on the GPU: ``pytest -m gpu --require-gpu``."""

import pytest


@pytest.mark.gpu
def test_claim(preset_cell, prove):
    entry = prove(preset_cell)
    assert entry.verdict == preset_cell.claim.expected, entry.reason
