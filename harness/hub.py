"""Checkpoints on the Hub: what a GPU job needs to know before and while it fetches one."""

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from harness.errors import HubError
from harness.outcome import Environment
from presets.schema import Claim

PATTERNS = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
"""What is fetched: no pickles, no code, no duplicate formats."""


def download(repo: str) -> Path:
    """The local folder of a Hub repository ("org/name" or "org/name@revision").

    HubError says in one line why it cannot be had: gated, missing, offline.
    """
    name, _, revision = repo.partition("@")
    try:
        return Path(snapshot_download(name, revision=revision or None, allow_patterns=PATTERNS))
    except GatedRepoError:
        raise HubError(f"{repo} is gated: accept its terms on the Hub and set HF_TOKEN") from None
    except RepositoryNotFoundError:
        raise HubError(f"{repo} does not exist, or is private and HF_TOKEN is not set") from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        raise HubError(f"{repo} is not in the cache and the Hub cannot be reached") from None
    except (HfHubHTTPError, OSError) as error:
        raise HubError(f"{repo}: {type(error).__name__}: {str(error).splitlines()[0]}") from None


def cannot_run(claim: Claim, environment: Environment) -> str | None:
    """Why a Hub claim cannot be tried on this device, None if it can."""
    if claim.gpus > max(environment.gpu_count, 1):
        return f"needs {claim.gpus} GPUs, found {environment.gpu_count}"
    if claim.memory_gib and claim.memory_gib > environment.memory_gib:
        return (
            f"needs {claim.memory_gib:g} GiB of memory on the {environment.device}, "
            f"found {environment.memory_gib:g}"
        )
    return None
