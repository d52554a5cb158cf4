"""Things that wait on disk until they are wanted, so that any number of them takes little memory."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, Self, TypeVar, cast

from overclaim._errors import InputError

_IN_MEMORY = 16 * 1024 * 1024
_CURE = "free some space there, name another folder in TMPDIR, or use --normals off"

T = TypeVar("T")


class Spool(Generic[T]):
    """A queue of plain objects: filled first, then read once in order. The file has no name and goes with the process.

    Raises InputError where the folder for temporary files is full or cannot be written.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what could not be written is not wanted any more
            self._file.close()

    def add(self, one: T) -> None:
        """Put one more at the end."""
        with _told():
            pickle.dump(one, self._file, pickle.HIGHEST_PROTOCOL)

    def __iter__(self) -> Iterator[T]:
        with _told():
            self._file.seek(0)  # it writes what is still to be written
        while True:
            try:
                yield cast("T", pickle.load(self._file))
            except EOFError:
                return


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except OSError as error:
        folder = tempfile.tempdir or "the folder for temporary files"
        raise InputError(f"runs cannot be kept in {folder} until all are read: {error}; {_CURE}") from error
