"""Checkpoints on the Hub: what a GPU job needs to know before and while it fetches one."""

from pathlib import Path

from huggingface_hub import get_token, snapshot_download

from harness.errors import HubError
from harness.outcome import Environment
from presets.hub import ERRORS, say
from presets.schema import Claim

PATTERNS = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
"""What is fetched: no pickles, no code, no duplicate formats."""


def download(repo: str, *, code: bool = False) -> Path:
    """The local folder of a Hub repository ("org/name" or "org/name@revision").

    ``code``: with its Python files, for a preset that lets the engine run them.

    HubError says in one line why it cannot be had: gated, missing, offline.
    """
    name, _, revision = repo.partition("@")
    patterns = [*PATTERNS, "*.py"] if code else PATTERNS
    try:
        return Path(snapshot_download(name, revision=revision or None, allow_patterns=patterns))
    except ERRORS as error:
        raise HubError(say(error, repo)) from None


def cannot_run(claim: Claim, environment: Environment) -> str | None:
    """Why a Hub claim cannot be tried on this device, None if it can.

    Memory is asked of GPUs only: a rehearsal on the CPU may serve stand-ins of any size.
    """
    if claim.gated and get_token() is None:
        return f"{claim.checkpoint} is gated: accept its terms on the Hub and set HF_TOKEN"
    if claim.gpus > max(environment.gpu_count, 1):
        return f"needs {claim.gpus} GPUs, found {environment.gpu_count}"
    if environment.device == "cuda" and (claim.memory_gib or 0) > environment.memory_gib:
        return f"needs {claim.memory_gib:g} GiB of memory, the GPU has {environment.memory_gib:g}"
    return None
