"""Who owns an embedded store: a file that says so, locked for as long as its process lives.

The lock belongs to the kernel, so a killed process leaves no stale lock behind and a reused process id misleads nobody.
The file is emptied, never removed: a name that comes and goes would let two processes lock two different files.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from pathlib import Path
from typing import IO, Any

from overclaim._errors import StoreError
from overclaim_detectors.store import OwnedElsewhere

FILE = "owner.json"
_OF_THE_SYSTEM = {"lost+found", ".DS_Store"}  # in a directory that is empty to its user


class Owner:
    """This process's ownership of one store directory, taken on creation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _open(path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise _owned_elsewhere(path) from None
        self.announce("")

    def announce(self, url: str) -> None:
        """Write down who owns the store and where it answers."""
        self._write(json.dumps({"pid": os.getpid(), "command": _command(), "url": url}))

    def release(self) -> None:
        """Give the store up."""
        if not self._file.closed:
            self._write("")
            self._file.close()

    def _write(self, text: str) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(text)
        self._file.flush()


def read_owner(path: Path) -> dict[str, Any]:
    """What the owner's file says: pid, command, url; empty where there is none."""
    try:
        said: object = json.loads((path / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return dict(said) if isinstance(said, dict) else {}  # pyright: ignore[reportUnknownArgumentType]


def is_store(path: Path) -> bool:
    """Whether a store was made in a directory."""
    return (path / FILE).is_file()


def _open(path: Path) -> IO[str]:
    try:
        path.mkdir(parents=True, exist_ok=True)
        _refuse_to_mix(path)
        return (path / FILE).open("a+", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot use {path} as a store: {error.strerror}; choose another with --store") from error


def _refuse_to_mix(path: Path) -> None:
    if is_store(path):
        return
    if others := {file.name for file in path.iterdir()} - _OF_THE_SYSTEM:
        raise StoreError(
            f"{path} is no store, and holds other files ({min(others)}, ...): choose a directory that is empty or new"
        )


def _command() -> str:
    name = os.path.basename(sys.argv[0]) or "python"
    return " ".join(("overclaim" if name == "__main__.py" else name, *sys.argv[1:]))[:200]


def _owned_elsewhere(path: Path) -> OwnedElsewhere:
    owner = read_owner(path)
    url = str(owner.get("url", ""))
    who = f"process {owner.get('pid', '(unknown)')} ({owner.get('command', 'unknown command')})"
    cure = f"use --store {url}" if url else "wait until it ends, or choose another store with --store chdb:///path"
    return OwnedElsewhere(f"the store {path} is in use by {who}: {cure}", url)
