"""Where the files of a checkpoint are read from: a local folder, byte range by byte range."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from presets.errors import CheckpointError


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
    """A local folder. Links are followed within it, and into the ``blobs`` of a Hub cache."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.files: dict[str, int] = {}
        self.odd: dict[str, str] = {}
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror or error}") from None
        root = Path(os.path.realpath(path))
        allowed = [root]
        if root.parent.name == "snapshots":
            allowed.append(root.parent.parent / "blobs")
        for entry in entries:
            try:
                status = entry.stat()
            except OSError as error:
                self.odd[entry.name] = error.strerror or str(error)
                continue
            if stat.S_ISDIR(status.st_mode):
                continue
            if not stat.S_ISREG(status.st_mode):
                self.odd[entry.name] = "not a regular file"
            elif entry.is_symlink() and not _within(Path(os.path.realpath(entry.path)), allowed):
                self.odd[entry.name] = "a link that leaves the folder"
            else:
                self.files[entry.name] = status.st_size

    def read(self, name: str, start: int, length: int) -> bytes:
        path = self.path / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode) or status.st_size != self.files[name]:
                    raise CheckpointError(f"{path}: changed while it was read")
                file.seek(start)
                return file.read(length)
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror or error}") from None


def _within(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
