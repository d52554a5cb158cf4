"""What a spool finds in its directory when it opens, whatever state that is in."""

from __future__ import annotations

import fcntl
import logging
import struct
import zlib
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final

from overclaim._errors import InputError
from overclaim_collector.writing.disk import Disk
from overclaim_collector.writing.segments import Reader, Segment

_LOCK: Final = "lock"
_POSITION: Final = "position"
_DAMAGED: Final = ".damaged"
_TRIES: Final = 3
# A checkpoint's three numbers, and their CRC-32. Earlier versions wrote two.
_CHECKPOINT: Final = struct.Struct(">QQQI")
_OLD_CHECKPOINT: Final = struct.Struct(">QQI")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """head: the number of the first record that is not done. next: that of the next one to be written.

    until: the number of the first record after those that were taken out together last.
    """

    head: int = 0
    next: int = 0
    until: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """What is there.

    segments: in order. aside: files set aside earlier, oldest first. order: the highest of the segments. damaged: how
    many records are known to be lost.
    """

    segments: list[Segment]
    aside: list[Segment]
    head: int
    next: int
    order: int
    damaged: int
    until: int = 0


def opened(disk: Disk, directory: Path) -> tuple[IO[bytes], Found]:
    """Make the directory if need be, keep others out of it until the returned file is closed, and see what is there.

    Raises:
        InputError: somebody else uses the directory, or it cannot be used at all.
    """
    try:
        with ExitStack() as opening:
            owner = opening.enter_context(_owned(disk, directory))
            found = _found(disk, directory)
            opening.pop_all()
            return owner, found
    except BlockingIOError:
        raise InputError(f"the spool {directory} is in use by another process: give each its own") from None
    except OSError as error:
        raise InputError(f"cannot use {directory} as a spool: {error.strerror or error}; choose another") from error


def _owned(disk: Disk, directory: Path) -> IO[bytes]:
    if not directory.is_dir():
        directory.mkdir(mode=0o700, parents=True)
        disk.sync_directory(directory.parent)
    file = (directory / _LOCK).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _found(disk: Disk, directory: Path) -> Found:
    """The records of a directory. Reads the newest segment, and of the others only the names; leaves foreign files."""
    segments, aside = _listed(disk, directory)
    checkpoint = _checkpoint(disk, directory)
    after, until = max(checkpoint.head, checkpoint.next), checkpoint.until
    if not segments:
        return Found([], aside, after, after, 0, 0)
    # Records before the first segment are done: a segment is removed only then, and the checkpoint may be an older one.
    head = max(checkpoint.head, segments[0].first)
    order = max(segment.order for segment in segments)
    after = max(after, _end(disk, segments, aside))
    return (
        Found(segments, aside, head, after, order, 0, until)
        if segments
        else Found([], aside, after, after, order, after - head)
    )


def save(disk: Disk, directory: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint down, whole or not at all as long as the power stays on."""
    part = directory / f"{_POSITION}.part"
    numbers = _CHECKPOINT.pack(checkpoint.head, checkpoint.next, checkpoint.until, 0)[:-4]
    with suppress(FileNotFoundError):
        disk.remove(part)
    file = disk.create(part)
    try:
        disk.write(file, numbers + zlib.crc32(numbers).to_bytes(4))
    finally:
        disk.close(file)
    disk.rename(part, directory / _POSITION)


def set_aside(disk: Disk, segment: Segment) -> Segment:
    """Rename a segment so that nobody reads it again; returns it under the new name."""
    path = segment.path.with_name(segment.path.name + _DAMAGED)
    disk.rename(segment.path, path)
    _log.error("a damaged file of the spool is set aside: %s", path)
    return replace(segment, path=path)


def _listed(disk: Disk, directory: Path) -> tuple[list[Segment], list[Segment]]:
    segments: list[Segment] = []
    aside: list[Segment] = []
    for name in disk.names(directory):
        if segment := Segment.found(directory / name.removesuffix(_DAMAGED), 0):
            segment.size = segment.taken = disk.size(directory / name)
            if name.endswith(_DAMAGED):
                segment.path = directory / name
                aside.append(segment)
            else:
                segments.append(segment)
    return sorted(segments, key=lambda one: (one.first, one.order)), aside


def _checkpoint(disk: Disk, directory: Path) -> Checkpoint:
    try:
        file = disk.open(directory / _POSITION)
        try:
            found = disk.read(file, _CHECKPOINT.size, 0)
        finally:
            disk.close(file)
        form = _OLD_CHECKPOINT if len(found) == _OLD_CHECKPOINT.size else _CHECKPOINT
        *numbers, checksum = form.unpack(found)
    except (OSError, struct.error):
        return Checkpoint()
    return Checkpoint(*numbers) if zlib.crc32(found[:-4]) == checksum else Checkpoint()


def _end(disk: Disk, segments: list[Segment], aside: list[Segment]) -> int:
    """The number after the last record. A newest segment that cannot be read is set aside, and counts as one record."""
    newest = segments[-1]
    for left in reversed(range(_TRIES)):
        try:
            with Reader(disk, newest) as reader:
                return reader.end()
        except OSError:
            if not left:
                break
    aside.append(set_aside(disk, segments.pop()))
    return newest.first + 1
