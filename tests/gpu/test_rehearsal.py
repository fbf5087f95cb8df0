"""The job of a GPU runner, end to end on the CPU: tiny stand-ins for the presets' Hub checkpoints
come from a Hub on localhost, the rest is what ``pytest -m gpu --require-gpu`` does.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from hub_server import Hub

import presets
from harness import records
from harness.cells import cells
from harness.tiny import build

pytestmark = pytest.mark.engine
REHEARSED = ["gemma4-text", "llama-causal-lm", "multimodal-text-only", "qwen3-reranker"]
ROOT = Path(__file__).parents[2]


def hub_claims():
    """(preset, claim) of every claim of theirs that a GPU runner tries with the installed vLLM."""
    version = presets.registry.default_vllm()
    bound = [presets.get(name, version) for name in REHEARSED]
    return [(c.preset, c.claim) for c in cells(bound, version, "cuda", hub=True)]


def stand_in(preset, claim):
    """The tiny checkpoint of which the preset claims the same: same defects, same failure."""
    for twin in preset.claims:
        if not twin.on_hub and (twin.defects, twin.control) == (claim.defects, claim.control):
            return twin.checkpoint
    pytest.fail(f"{preset.name}: no claim about a tiny checkpoint is like {claim.checkpoint}'s")


def test_every_hub_claim_is_proven(isolation, tmp_path):
    claims = list(hub_claims())
    families = {claim.checkpoint: stand_in(preset, claim) for preset, claim in claims}
    served = {
        repo: isolation.call(build, family, [], answer=Path) for repo, family in families.items()
    }
    file = tmp_path / "records.jsonl"
    with Hub(served) as hub:
        command = [
            *(sys.executable, "-m", "pytest", "-m", "gpu", "--require-gpu", "--rehearse-gpu"),
            *("tests/gpu/test_claims.py", "--records", str(file), "-p", "no:cacheprovider"),
            *(f"--preset={name}" for name in REHEARSED),
        ]
        env = hub.environ(tmp_path / "home") | {"VLLM_PRESETS_CACHE": str(tmp_path / "cache")}
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=900
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(claims)} passed" in done.stdout
    assert "skipped" not in done.stdout

    found = list(records.read(file))
    assert {(r.preset, r.checkpoint, r.verdict) for r in found} == {
        (preset.name, claim.checkpoint, "needed") for preset, claim in claims
    }
    for entry in found:
        assert not entry.control.ok
        assert entry.treatment.parity.ok
    for repo, folder in served.items():
        for name in ("config.json", "model.safetensors"):
            assert hub.sent[f"{repo}/{name}"] == (folder / name).stat().st_size  # once
