"""A checkpoint on the Hub, read through huggingface_hub without downloading it.

One request lists the files of a commit; then one a JSON file, and one a shard, which is its first
``FIRST`` bytes (of a short header that takes some weight bytes along; asking for 8 bytes first
would double the requests), and a second one where the header is longer. Nothing is written to the
cache: what is there of a repository that was only checked would pass for the whole of it.
"""

import fnmatch
import re
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, hf_hub_url, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    get_session,
    hf_raise_for_status,
)

from presets.errors import CheckpointError
from presets.source import Folder, Source

FIRST = 100_000
"""Bytes of a shard that are asked for at once."""
TIMEOUT = 10
"""Seconds without a byte from the Hub."""

ERRORS: tuple[type[Exception], ...] = (
    *HfHubHTTPError.__bases__,
    OSError,
    HFValidationError,
    ValueError,
)
"""What huggingface_hub raises. The bases are those of the HTTP client, another one by its version:
a connection that breaks raises one of its errors bare; an answer that is no JSON, a ValueError."""

_NUMBERED = re.compile(r"-(\d{5})-of-(\d{5})\.safetensors$")
_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf", "*.pt")


def say(error: Exception, repo: str) -> str:
    """In one line: why ``repo`` ("org/name[@revision]") cannot be had, and what to do."""
    name, _, revision = repo.partition("@")
    if isinstance(error, GatedRepoError):
        return f"{repo} is gated: accept its terms on the Hub and set HF_TOKEN"
    if isinstance(error, RepositoryNotFoundError):
        return f"{repo} does not exist, or is private and HF_TOKEN is not set"
    if isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled):
        return f"{repo} is not in the cache and the Hub cannot be reached"
    if isinstance(error, RevisionNotFoundError):
        return f"{name} has no revision {revision!r}"
    status = getattr(getattr(error, "response", None), "status_code", 0)
    if status in (401, 403):
        return f"{repo}: the Hub refuses access ({status}): set HF_TOKEN to a token that may read"
    if status == 429:
        return f"{repo}: too many requests (429): wait some minutes, or set HF_TOKEN"
    if status >= 500:
        return f"{repo}: the Hub is failing ({status}): try again later"
    text = " ".join(str(error).split())
    return f"{repo}: {type(error).__name__}: {text[:200]}"


def open_repo(repo: str) -> Source:
    """The files of "org/name[@revision]": on the Hub, or in the cache if it cannot be reached.

    CheckpointError says in one line why they cannot be had.
    """
    try:
        return HubRepo(repo)
    except (HfHubHTTPError, HFValidationError) as error:
        raise CheckpointError(say(error, repo)) from None
    except (TypeError, KeyError, AttributeError) as error:  # huggingface_hub, taking it apart
        raise CheckpointError(f"{repo}: what the Hub answered is no model: {error!r}") from None
    except ERRORS as error:
        # OfflineModeIsEnabled is one of them; bad JSON is an answer, no reason for the cache.
        if isinstance(error, ValueError):
            raise CheckpointError(say(error, repo)) from None
        return _cached(repo)


def _cached(repo: str) -> Folder:
    name, _, revision = repo.partition("@")
    try:
        path = snapshot_download(name, revision=revision or None, local_files_only=True)
    except ERRORS as error:
        raise CheckpointError(say(error, repo)) from None
    folder = Folder(Path(path))
    if not any(fnmatch.filter(folder.files, pattern) for pattern in _WEIGHTS):
        raise CheckpointError(f"{repo}: the cache has no weights of it and the Hub is out of reach")
    if _lacks_shards(folder):
        raise CheckpointError(f"{repo}: the cache has a part of it and the Hub is out of reach")
    return folder


def _lacks_shards(folder: Folder) -> bool:
    """Whether weight files are numbered as in ``00001-of-00003`` and one of them is not there."""
    found = [match.groups() for name in folder.files if (match := _NUMBERED.search(name))]
    return any(sum(of == total for _, of in found) < int(total) for _, total in found)


class HubRepo:
    """A commit of a model repository; a ``presets.source.Source``. Raises what ``ERRORS`` holds."""

    def __init__(self, repo: str) -> None:
        asked, _, revision = repo.partition("@")
        info = HfApi().model_info(
            asked, revision=revision or None, files_metadata=True, timeout=TIMEOUT
        )
        names = [info.id, info.sha, *(file.rfilename for file in info.siblings or [])]
        if not all(isinstance(name, str) for name in names):
            raise TypeError("a name or the commit is missing")
        self.name = repo
        self.repo = info.id  # another one than was asked for, if it was renamed
        self.commit = info.sha
        self.files: dict[str, int] = {}
        self.odd: dict[str, str] = {}
        for file in info.siblings or []:
            if "/" in file.rfilename:
                continue
            if not isinstance(file.size, int):
                self.odd[file.rfilename] = "the Hub does not tell its size"
            else:
                self.files[file.rfilename] = file.size
        self._start: tuple[str, bytes] = ("", b"")

    def read(self, name: str, start: int, length: int) -> bytes:
        end = min(start + length, self.files[name])
        if not name.endswith(".safetensors"):
            return self._get(name, start, end)
        if self._start[0] != name:
            self._start = (name, self._get(name, 0, min(FIRST, self.files[name])))
        known = self._start[1]
        if end <= len(known):
            return known[start:end]
        return known[start:] + self._get(name, max(start, len(known)), end)

    def _get(self, name: str, start: int, end: int) -> bytes:
        """Bytes ``start`` to ``end``, the latter excluded. One request."""
        if start >= end:
            return b""
        url = hf_hub_url(self.repo, name, revision=self.commit)
        headers = build_hf_headers() | {
            "Range": f"bytes={start}-{end - 1}",
            "Accept-Encoding": "identity",
        }
        try:
            got = _receive(url, headers, end - start)
        except ERRORS as error:
            raise CheckpointError(say(error, self.name)) from None
        if len(got) != end - start:
            raise CheckpointError(
                f"{self.name}/{name}: the Hub sent {len(got)} bytes of {end - start}: try again"
            )
        return got


def _receive(url: str, headers: dict[str, str], length: int) -> bytes:
    """The body of the answer. A server that ignores the range is not listened to any longer."""
    session: Any = get_session()
    if hasattr(session, "stream"):  # httpx, from huggingface_hub 1.0 on
        answer = session.stream("GET", url, headers=headers, timeout=TIMEOUT, follow_redirects=True)
    else:
        answer = session.get(url, headers=headers, timeout=TIMEOUT, stream=True)
    got = bytearray()
    with answer as response:
        hf_raise_for_status(response)
        if response.status_code != 206:
            raise OSError(f"no range requests: status {response.status_code} for {url}")
        chunks = (
            response.iter_bytes() if hasattr(session, "stream") else response.iter_content(2**16)
        )
        for chunk in chunks:
            got += chunk
            if len(got) > length:
                raise OSError(f"more than the range asked for: {url}")
    return bytes(got)
