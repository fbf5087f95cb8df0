"""Every claim on a tiny checkpoint, in the real engine."""

import pytest


@pytest.mark.engine
def test_claim(preset_cell, prove):
    entry = prove(preset_cell)
    assert entry.verdict == preset_cell.claim.expected, entry.reason
