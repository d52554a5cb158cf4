"""The files of a spool and the records in them.

A segment is a file of frames, one after the other; a frame is a header and a record. Records are numbered through. A
segment's name tells the number of its first record, so that what is missing can be counted, and a random number, its
mark. The mark begins each header and goes into both checksums: what senders put into a record can never be read as a
frame, since they do not know it. A damaged header is passed over by looking for the next mark.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from overclaim_collector.writing.disk import Disk

# The mark, the record's length, its number, its CRC-32, and the CRC-32 of these four.
_HEADER: Final = struct.Struct(">IIQII")
OVERHEAD: Final = _HEADER.size
LONGEST: Final = 2**32 - 1
_NAME: Final = re.compile(r"(\d{19})-(\d{10})-([0-9a-f]{8})\.segment", re.ASCII)
_WINDOW: Final = 256 * 1024
_NONE_WANTED: Final = 2**64


@dataclass(slots=True)
class Segment:
    """A file of records.

    first: the number of its first record. order: of two with the same first, the later one counts. size: how many of
    its bytes may be read. taken: how many it takes on the disk. damaged: whether something in it cannot be read.
    """

    path: Path
    first: int
    order: int
    mark: int
    size: int = 0
    taken: int = 0
    damaged: bool = False

    @classmethod
    def new(cls, directory: Path, first: int, order: int, mark: int) -> Self:
        """One that does not exist yet."""
        return cls(directory / f"{first:019d}-{order:010d}-{mark:08x}.segment", first, order, mark)

    @classmethod
    def found(cls, path: Path, size: int) -> Self | None:
        """The one in a file; None for a file of another kind."""
        match = _NAME.fullmatch(path.name)
        return cls(path, int(match[1]), int(match[2]), int(match[3], 16), size, size) if match else None


@dataclass(frozen=True, slots=True)
class Frame:
    """A record in a segment. end: where the next frame begins. record: None if it is damaged, or was not asked for."""

    number: int
    end: int
    record: bytes | None


def framed(segment: Segment, number: int, record: bytes) -> bytes:
    """A record, of at most LONGEST bytes, as it is written."""
    return _header(segment.mark, len(record), number, _checksum(segment.mark, record)) + record


def _checksum(mark: int, record: bytes) -> int:
    # Not from the mark itself: the checksum of an empty record would be the mark once more.
    return zlib.crc32(record, ~mark & 0xFFFFFFFF)


def _header(mark: int, length: int, number: int, checksum: int) -> bytes:
    start = _HEADER.pack(mark, length, number, checksum, 0)[:-4]
    return start + zlib.crc32(start, mark).to_bytes(4)


class Reader:
    """Reads one segment; holds one record and a window of the file at a time. Close it."""

    def __init__(self, disk: Disk, segment: Segment) -> None:
        self._disk = disk
        self._segment = segment
        self._mark = segment.mark.to_bytes(4)
        self._window = b""
        self._at = 0
        self._file = disk.open(segment.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._disk.close(self._file)

    def frames(self, offset: int, wanted: int) -> Iterator[Frame]:
        """The frames from `offset` on; records are read from number `wanted` on."""
        least = self._segment.first
        while (start := self._next_mark(offset)) >= 0:
            if (frame := self._frame(start, least, wanted)) is None:
                offset = start + 1
                continue
            yield frame
            least, offset = frame.number + 1, frame.end

    def end(self) -> int:
        """The number after the last record, damaged ones included, as far as their headers or marks are left."""
        number, offset = self._segment.first, 0
        for frame in self.frames(0, _NONE_WANTED):
            number, offset = frame.number + 1, frame.end
        return number + self._marks(offset) if offset < self._segment.size else number

    def _marks(self, offset: int) -> int:
        count = 0
        while (offset := self._next_mark(offset) + 1) > 0:
            count += 1
        return max(count, 1)

    def _frame(self, start: int, least: int, wanted: int) -> Frame | None:
        header = self._bytes(start, OVERHEAD)
        if len(header) < OVERHEAD:
            return None
        mark, length, number, checksum, _ = _HEADER.unpack(header)
        if header != _header(mark, length, number, checksum) or number < least:
            return None
        begin = start + OVERHEAD
        record = self._bytes(begin, length) if number >= wanted else None
        intact = record is not None and _checksum(self._segment.mark, record) == checksum
        return Frame(number, begin + length, record if intact else None)

    def _next_mark(self, offset: int) -> int:
        """Where the next mark from `offset` on begins; -1 if there is none."""
        while len(window := self._bytes(offset, 4)) == 4:
            if window == self._mark:
                return offset
            found = self._window.find(self._mark, offset - self._at)
            if found >= 0:
                return self._at + found
            offset = self._at + len(self._window) - 3  # a mark may go over the edge
        return -1

    def _bytes(self, offset: int, count: int) -> bytes:
        """`count` bytes; fewer at the end of what may be read, whatever the length in a header says."""
        left = max(0, self._segment.size - offset)
        count = min(count, left)
        if not self._at <= offset <= offset + count <= self._at + len(self._window):
            self._window, self._at = self._disk.read(self._file, min(max(count, _WINDOW), left), offset), offset
        start = offset - self._at
        return self._window[start : start + count]
