"""Where the files of a checkpoint are read from: a local folder, byte range by byte range."""

import itertools
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from presets.errors import CheckpointError

MAX_FILES = 50_000
"""Entries of a folder that are looked at; a folder with more is no checkpoint."""


class Source(Protocol):
    """A checkpoint's files. Nothing is read but what is asked for, nothing is ever written."""

    @property
    def name(self) -> str:
        """What the user calls it: a path, or ``org/name@revision``."""

    @property
    def files(self) -> Mapping[str, int]:
        """The regular files at the top, name -> size in bytes."""

    @property
    def odd(self) -> Mapping[str, str]:
        """What is there and is not read, name -> why."""

    def read(self, name: str, start: int, length: int) -> bytes:
        """At most ``length`` bytes of a file. CheckpointError names the file and says why not."""


class Folder:
    """A local folder. Links are followed within it, and into the ``blobs`` of a Hub cache.

    CheckpointError where it cannot be listed, or has more than ``MAX_FILES`` entries.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.files: dict[str, int] = {}
        self.odd: dict[str, str] = {}
        self._seen: dict[str, tuple[int, ...]] = {}
        try:
            with os.scandir(path) as entries:
                found = sorted(entry.name for entry in itertools.islice(entries, MAX_FILES + 1))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: {_why(error)}") from None
        if len(found) > MAX_FILES:
            raise CheckpointError(f"{path}: more than {MAX_FILES} files, is it a checkpoint?")
        root = Path(os.path.realpath(path))
        self._allowed = [root]
        if root.parent.name == "snapshots":
            self._allowed.append(root.parent.parent / "blobs")
        for name in found:
            self._add(name, Path(os.path.realpath(root / name)))

    def _add(self, name: str, target: Path) -> None:
        """Note a file as readable, or why it is not; ``target`` is where its link leads."""
        try:
            status = target.stat()
        except OSError as error:
            self.odd[name] = _why(error)
            return
        if stat.S_ISDIR(status.st_mode):
            self.odd[name] = "a directory"
        elif not stat.S_ISREG(status.st_mode):
            self.odd[name] = "not a regular file"
        elif not self._inside(target):
            self.odd[name] = "a link that leaves the folder"
        else:
            self.files[name] = status.st_size
            self._seen[name] = _identity(status)

    def _inside(self, target: Path) -> bool:
        return any(target.is_relative_to(folder) for folder in self._allowed)

    def below(self) -> Iterator[Path]:
        """The regular files in folders of it, relative to it; folders with a leading dot (``.git``)
        and links that leave it are left out.
        """
        for top, folders, names in os.walk(self.path):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            for name in sorted(names) if top != str(self.path) else ():
                target = Path(os.path.realpath(Path(top, name)))
                if target.is_file() and self._inside(target):
                    yield Path(top, name).relative_to(self.path)

    def read(self, name: str, start: int, length: int) -> bytes:
        """Exactly ``length`` bytes, or all there are from ``start`` on."""
        path = self.path / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO must not block
            try:
                same = _identity(os.fstat(descriptor)) == self._seen[name]
                text = os.pread(descriptor, length, start) if same else b""
            finally:
                os.close(descriptor)
        except OSError as error:
            raise CheckpointError(f"{path}: {_why(error)}") from None
        if not same or len(text) != max(0, min(length, self.files[name] - start)):
            raise CheckpointError(f"{path}: changed while it was read")
        return text


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """What tells a file from another one that was put in its place."""
    kind = stat.S_IFMT(status.st_mode)
    return kind, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
