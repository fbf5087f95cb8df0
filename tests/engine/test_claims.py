"""Every claim on a tiny checkpoint, in the real engine."""

import pytest


@pytest.mark.engine
def test_claim(cell, prove):
    entry = prove(cell)
    assert entry.verdict == cell.claim.expected, entry.reason
