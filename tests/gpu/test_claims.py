"""Every claim on a Hub checkpoint, on the GPU: ``pytest -m gpu --require-gpu``."""

import pytest


@pytest.mark.gpu
def test_claim(cell, prove):
    entry = prove(cell)
    assert entry.verdict == cell.claim.expected, entry.reason
