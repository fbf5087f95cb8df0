"""Claims on tiny checkpoints, in the real engine: the presets here stand for every mechanism.

``harness verify --all`` runs the claims of all presets, ``--preset NAME`` those of one, here too.
"""

import pytest

PRESETS = [
    "gemma3-text-only",
    "gemma4-text",
    "gpt2-causal-lm",
    "llama-causal-lm",
    "mean-pooled-encoder",
    "multimodal-text-only",
    "qwen3-reranker",
    "score-head",
    "splade-v3",
    "token-embedder",
]


@pytest.mark.engine
def test_claim(preset_cell, prove):
    entry = prove(preset_cell)
    assert entry.verdict == preset_cell.claim.expected, entry.reason
