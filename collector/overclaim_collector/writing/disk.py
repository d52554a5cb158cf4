"""The calls to the operating system that the spool makes, in one place, so that tests can make each of them fail."""

from __future__ import annotations

import os
from pathlib import Path


class Disk:
    """Files of one directory. Every method may raise OSError."""

    def names(self, directory: Path) -> list[str]:
        """What is in a directory, in order."""
        return sorted(os.listdir(directory))

    def size(self, path: Path) -> int:
        """How many bytes a file has."""
        return path.lstat().st_size

    def create(self, path: Path) -> int:
        """A new file to append to, for its owner's eyes only."""
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def open(self, path: Path) -> int:
        """A file to read; never one that a link leads to, nor a pipe that would wait for a writer."""
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)

    def read(self, file: int, size: int, offset: int) -> bytes:
        """Up to `size` bytes from `offset` on."""
        return os.pread(file, size, offset)

    def write(self, file: int, content: bytes) -> None:
        """Append all of `content`."""
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(file, rest) :]

    def truncate(self, file: int, size: int) -> None:
        """Cut a file off."""
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        """Return when the content of a file would survive a power loss."""
        os.fsync(file)

    def sync_directory(self, directory: Path) -> None:
        """Return when the names in a directory would survive a power loss."""
        file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, which may be taken."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        os.unlink(path)

    def close(self, file: int) -> None:
        """Close a file."""
        os.close(file)
