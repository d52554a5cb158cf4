"""Who owns an embedded store: a file that says so, locked for as long as its process lives.

The lock belongs to the kernel, so a killed process leaves no stale lock behind and a reused process id misleads nobody.
The file is emptied, never removed: a name that comes and goes would let two processes lock two different files.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from overclaim._errors import StoreError
from overclaim_detectors.hiding import without_secrets
from overclaim_detectors.store import OwnedElsewhere

FILE = "owner.json"
KEY_FILE = "owner.key"
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


def grant(path: Path) -> str:
    """Make the key of a server that has the store: who can read it may decide as if they had the store themselves.

    Raises:
        StoreError: it cannot be written.
    """
    key = secrets.token_urlsafe(32)
    try:
        (path / KEY_FILE).unlink(missing_ok=True)  # whoever could read an old one might have it open
        file = os.open(path / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(file, "w", encoding="ascii") as out:
            out.write(key)
    except OSError as error:
        raise StoreError(f"cannot write {path / KEY_FILE}: {error.strerror}") from error
    return key


def revoke(path: Path) -> None:
    """Take the key away; it is of no use to anybody when its server has ended."""
    with suppress(OSError):
        (path / KEY_FILE).unlink(missing_ok=True)


def read_key(path: Path) -> str:
    """The key of the server that has the store; "" where there is none, or it is not for this user."""
    try:
        return (path / KEY_FILE).read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


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
    return without_secrets(" ".join(("overclaim" if name == "__main__.py" else name, *sys.argv[1:])))[:200]


def _owned_elsewhere(path: Path) -> OwnedElsewhere:
    owner = read_owner(path)
    url = str(owner.get("url", ""))
    who = f"process {owner.get('pid', '(unknown)')} ({owner.get('command', 'unknown command')})"
    cure = f"use --store {url}" if url else "wait until it ends, or choose another store with --store chdb:///path"
    return OwnedElsewhere(f"the store {path} is in use by {who}: {cure}", url)
