"""A disk that can be filled and emptied by a test, without rights.

Best is a small file system of its own, mounted where only the server sees it; where this machine allows no such
namespace, a limit on the size of files does nearly the same: no file can grow.
"""

from __future__ import annotations

import errno
import resource
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Protocol

from tests.faults.harness.served import Served

SIZE_MIB = 192
_MOUNT = 'mount -t tmpfs -o size="$0"m tmpfs "$1" && shift && exec "$@"'


class Disk(Protocol):
    """What the store of a server lies on."""

    kind: str

    def fill(self) -> None:
        """From now on nothing more can be written."""
        ...

    def empty(self) -> None:
        """There is room again."""
        ...


class SmallDisk:
    """A small file system in memory, in a mount namespace of the server's."""

    kind = f"file system of {SIZE_MIB} MiB"

    def __init__(self, served: Served, folder: Path) -> None:
        self._filler = Path(f"/proc/{served.pid}/root{folder / 'filler'}")

    def fill(self) -> None:
        """Write a file until there is no room for another byte."""
        piece = bytes(64 << 10)
        with self._filler.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                if file.write(piece) < len(piece):
                    raise OSError(errno.ENOSPC, "full")

    def empty(self) -> None:
        """Remove that file."""
        self._filler.unlink()


class FileLimit:
    """No file of the server's may grow."""

    kind = "limit on the size of files"

    def __init__(self, served: Served) -> None:
        self._pid = served.pid

    def fill(self) -> None:
        """Let no file be longer than a page."""
        self._limit(4096)

    def empty(self) -> None:
        """Let files grow again."""
        self._limit(resource.RLIM_INFINITY)

    def _limit(self, size: int) -> None:
        _, hard = resource.prlimit(self._pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (size, hard))


@cache
def can_mount() -> bool:
    """Whether a file system can be mounted in a namespace of one's own."""
    try:
        command = ["unshare", "-Urm", "sh", "-c", "mount -t tmpfs tmpfs /tmp"]
        return subprocess.run(command, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def before(folder: Path) -> tuple[str, ...]:
    """The command in front of the server's own that gives it a small disk at that folder."""
    return ("unshare", "-Urm", "sh", "-c", _MOUNT, str(SIZE_MIB), str(folder)) if can_mount() else ()


def disk_of(served: Served, folder: Path) -> Disk:
    """The disk of a server that was started with that command."""
    return SmallDisk(served, folder) if can_mount() else FileLimit(served)
