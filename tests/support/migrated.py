"""A store with all its tables, made once for all workers of a test session and copied: making one takes seconds.

What is about making tables, or about what a server does in an empty directory, must not take a copy.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store

if TYPE_CHECKING:
    import pytest

_shared: list[Path] = []  # where this session keeps it; none where a harness runs without pytest


def keep_in(session: pytest.TempPathFactory) -> None:
    """Have copies from now on, of a store in the folder that this session's workers share."""
    own = session.getbasetemp()
    _shared[:] = [own.parent if "PYTEST_XDIST_WORKER" in os.environ else own]


def made_store(directory: Path) -> Path:
    """The directory of a store, which may exist and be empty, filled with a copy; as it is outside of a session."""
    if _shared:
        shutil.copytree(_made(_shared[0]), directory, symlinks=True, dirs_exist_ok=True)
    return directory


def _made(folder: Path) -> Path:
    made = folder / "migrated"
    with (folder / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            # In a process of its own: this one may have another store open, and can hold one at a time.
            making = folder / "migrating"
            subprocess.run([sys.executable, __file__, str(making)], check=True, timeout=100)
            making.rename(made)
    return made


if __name__ == "__main__":
    opened = open_store(f"chdb://{sys.argv[1]}")
    try:
        migrate(opened)
    finally:
        opened.close()
