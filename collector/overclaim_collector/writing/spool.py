"""What waits on disk for the store: records that come out again after a crash or a power loss.

Records are appended to segment files (segments.py) and read in order. `append` returns when they are on the disk;
callers that append at the same time share one fsync. What was read is given up with `done`. How far that came is in the
file `position`, written without an fsync: after a power loss records may come out twice, never not at all. It says as
well which records were taken out together, so that the same ones come together after the end of the process, too.

Nothing in a damaged directory keeps the spool from opening. Records that cannot be read any more are counted exactly:
records are numbered through, and the names of the segments tell the numbers. Only where the newest segment lost its end
after a crash, records of which no mark is left count as one together. Damage is noticed where it is read. A segment
with damage is renamed to *.damaged when its other records are done; such files go when room is needed.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EBADF
from pathlib import Path
from typing import Final

from overclaim._errors import OverclaimError
from overclaim_collector.writing import spool_directory
from overclaim_collector.writing.disk import Disk
from overclaim_collector.writing.segments import LONGEST, OVERHEAD, Frame, Reader, Segment, framed
from overclaim_collector.writing.spool_directory import Checkpoint

SEGMENT_BYTES: Final = 8 * 1024 * 1024
_TRIES: Final = 3  # to read a segment, before it is set aside

_log = logging.getLogger(__name__)


class SpoolFull(OverclaimError):
    """There is no room for a record."""


@dataclass(slots=True)
class _Append:
    """Records of one caller on their way to the disk."""

    records: Sequence[bytes]
    beyond: bool = False
    done: bool = False
    error: Exception | None = None

    @property
    def size(self) -> int:
        return sum(OVERHEAD + len(record) for record in self.records)


@dataclass(slots=True)
class _Writing:
    """The segment that is written to. number: of its next record. unsynced: what may not be on the disk yet."""

    segment: Segment
    file: int
    number: int
    unsynced: list[_Append] = field(default_factory=list[_Append])


class Spool:
    """The records of one directory, which nobody else may use meanwhile. Safe to use from many threads.

    directory: made if it is not there. max_bytes: what the files of its records may take together. sync: whether
    `append` waits for the disk; without it records survive the end of the process, but not a power loss.

    Raises:
        InputError: another process uses the directory, or it cannot be made, read or written.
    """

    def __init__(self, directory: Path, max_bytes: int, sync: bool = True, disk: Disk | None = None) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._segment_bytes = min(SEGMENT_BYTES, max_bytes // 8)
        self._sync = sync
        self._disk = disk or Disk()
        self._reading = threading.Lock()  # of peek and done; taken before the other one
        self._turn = threading.Condition()  # of the next two
        self._pending: list[_Append] = []
        self._busy = False
        self._lock = threading.Lock()  # of everything below but _peeked, _place and _failures
        self._writing: _Writing | None = None
        self._closed = False
        self._owner, found = spool_directory.opened(self._disk, directory)
        self._segments, self._aside = found.segments, found.aside
        self._head, self._next, self._order = found.head, found.next, found.order
        self._damaged, self._until = found.damaged, found.until
        self._peeked: list[Frame] = []
        self._place: tuple[Segment, int] | None = None  # where the head begins, if that is known
        self._failures = 0
        self._remove_passed()

    # The figures are read without the lock: whoever asks for them must not wait for a disk that hangs.

    @property
    def head(self) -> int:
        """The number of the first record that waits, or of the next one to come."""
        return self._head

    @property
    def next(self) -> int:
        """The number of the next record to come."""
        return self._next

    @property
    def records(self) -> int:
        """How many wait, including damaged ones that were not come across yet."""
        head = self._head  # first, so that what happens in between makes it more, not less than nothing
        return self._next - head

    @property
    def is_filling(self) -> bool:
        """Whether half of the room is taken, or more."""
        return sum(segment.taken for segment in self._segments) > self._max_bytes // 2

    @property
    def bytes(self) -> int:
        """What the files of the records take on disk, those set aside included."""
        return self._taken()

    @property
    def damaged(self) -> int:
        """How many records could not be read since the spool was opened."""
        return self._damaged

    def append(self, *records: bytes, beyond: bool = False) -> None:
        """Keep records, all or none of them; returns when they are on the disk.

        beyond: even where there is no room, for records that are in here already and shall let others pass.

        Raises:
            SpoolFull: there is no room for them.
            OSError: the disk does not take them.
            ValueError: one is longer than 4 GiB.
        """
        if any(len(record) > LONGEST for record in records):
            raise ValueError("a record of more than 4 GiB does not fit into the spool")
        mine = _Append(records, beyond)
        if group := self._turn_of(mine):
            try:
                with self._lock:
                    self._write(group)
            finally:
                with self._turn:
                    self._busy = False
                    self._turn.notify_all()
        if mine.error is not None:
            raise mine.error

    def peek(self, max_bytes: int) -> list[tuple[int, bytes]]:
        """The next records with their positions, in order: at least one, if there is any, and more up to `max_bytes`.

        The same ones come again, and no others with them, until they are `done`.

        Raises:
            OSError: the disk does not give them; after three such failures in a row the segment is set aside.
        """
        with self._reading:
            self._refuse_closed()
            self._peeked = []
            while not self._peeked and (head := self._head_segment()) is not None:
                segment, stop = head
                self._peeked = self._together(self._read(segment, stop, max_bytes))
                if not self._peeked:  # nothing in there can be read any more
                    self._advance(stop, 0)
            return [(frame.number, frame.record) for frame in self._peeked if frame.record is not None]

    def done(self, position: int) -> None:
        """Give up all records up to this position, which the last `peek` returned.

        A position that cannot be written down costs a second delivery after a crash, and nothing else.
        """
        with self._reading:
            self._refuse_closed()
            given = [frame for frame in self._peeked if frame.number <= position]
            if not given or given[-1].number != position:
                raise ValueError(f"no record at position {position} was returned by the last peek")
            self._peeked = self._peeked[len(given) :]
            if (head := self._head_segment()) is not None:
                self._place = head[0], given[-1].end
            self._advance(position + 1, len(given))

    def newest(self) -> list[bytes]:
        """The records of the newest file, as far as they can be read: those of which senders may have heard nothing."""
        with self._reading, suppress(OSError):
            with self._lock:
                segments = self._segments[-1:]
            return [record for one in segments for record in self._whole(one)]
        return []

    def close(self) -> None:
        """Write down how far reading came, and let others have the directory; twice is fine."""
        with self._reading, self._lock:
            if self._closed:
                return
            self._closed = True
            self._end_segment()
            self._save()
            self._owner.close()

    def _refuse_closed(self) -> None:
        if self._closed:  # the directory may be somebody else's by now
            raise OSError(EBADF, "the spool is closed")

    def _whole(self, segment: Segment) -> list[bytes]:
        with Reader(self._disk, segment) as reader:
            return [frame.record for frame in reader.frames(0, self._head) if frame.record is not None]

    def _turn_of(self, mine: _Append) -> list[_Append]:
        """What to write for everybody who waits; nothing where somebody else has written `mine`."""
        with self._turn:
            self._pending.append(mine)
            self._turn.wait_for(lambda: mine.done or not self._busy)
            if mine.done:
                return []
            group, self._pending, self._busy = self._pending, [], True
            return group

    def _write(self, group: list[_Append]) -> None:
        try:
            for one in group:
                self._put(one)
            self._flush()
        except BaseException as error:
            self._fail([one for one in group if not one.done], error)
            if not isinstance(error, OSError):
                raise

    def _put(self, one: _Append) -> None:
        """Write without waiting for the disk; one that has no room ends here."""
        self._refuse_closed()
        if not (one.beyond or self._has_room(one.size)):
            one.error = SpoolFull(f"the spool in {self._directory} holds {self._max_bytes} bytes at most")
            one.done = True
            return
        writing = self._writable()
        writing.unsynced.append(one)
        for record in one.records:
            frame = framed(writing.segment, writing.number, record)
            writing.segment.taken += len(frame)
            writing.number += 1
            self._disk.write(writing.file, frame)

    def _has_room(self, size: int) -> bool:
        if sum(segment.taken for segment in self._segments) + size > self._max_bytes:
            return False
        while self._taken() + size > self._max_bytes:
            with suppress(OSError):
                self._disk.remove(self._aside[0].path)
            del self._aside[0]
        return True

    def _taken(self) -> int:
        return sum(segment.taken for segment in (*self._segments, *self._aside))

    def _writable(self) -> _Writing:
        if self._writing is not None and self._writing.segment.taken >= self._segment_bytes:
            self._flush()
            self._end_segment()
        return self._writing or self._begin_segment()

    def _begin_segment(self) -> _Writing:
        self._order += 1
        segment = Segment.new(self._directory, self._next, self._order, secrets.randbits(32))
        self._writing = _Writing(segment, self._disk.create(segment.path), self._next)
        self._segments.append(segment)
        if self._sync:
            self._disk.sync_directory(self._directory)
        return self._writing

    def _end_segment(self) -> None:
        if self._writing is not None:
            with suppress(OSError):  # what counts was synced
                self._disk.close(self._writing.file)
            self._writing = None

    def _flush(self) -> None:
        """What was put is on the disk from here on, and may be read."""
        writing = self._writing
        if writing is None:
            return
        if self._sync:
            self._disk.sync(writing.file)
        writing.segment.size = writing.segment.taken
        self._next = writing.number
        for one in writing.unsynced:
            one.done = True
        writing.unsynced = []

    def _fail(self, group: list[_Append], error: BaseException) -> None:
        """Take nothing of what is not surely on the disk: after a failed fsync a second one proves nothing.

        The segment ends where it was synced. Should the rest stay in the file, the next segment's name, which begins
        with the same number, says that it does not count.
        """
        for one in group:
            one.error = OSError(*error.args)
            one.done = True
        if self._writing is not None:
            segment = self._writing.segment
            with suppress(OSError):
                self._disk.truncate(self._writing.file, segment.size)
                segment.taken = segment.size
            self._end_segment()
            if not segment.size:
                self._remove(segment)

    def _head_segment(self) -> tuple[Segment, int] | None:
        """The segment that holds the next record, and the number of the first record that is not in it."""
        with self._lock:
            return next((both for both in self._with_stops() if both[1] > self._head), None)

    def _with_stops(self) -> list[tuple[Segment, int]]:
        """Each segment with the number of the first record that is not in it any more."""
        stops = [segment.first for segment in self._segments[1:]]
        return list(zip(self._segments, [*stops, self._next], strict=False))

    def _read(self, segment: Segment, stop: int, max_bytes: int) -> list[Frame]:
        try:
            found = self._frames(segment, stop, max_bytes)
            self._failures = 0
        except OSError as error:
            self._failures += 1
            if self._failures < _TRIES:
                raise
            self._failures = 0
            segment.damaged = True
            _log.error("the spool's file %s cannot be read (%s): it is set aside", segment.path, error)
            return []
        return found

    def _together(self, frames: list[Frame]) -> list[Frame]:
        """Of these those that were taken out together before; where none of them was, all, from now on."""
        if again := [frame for frame in frames if frame.number < self._until]:
            return again
        if frames:
            with self._lock:
                self._until = frames[-1].number + 1
                self._save()
        return frames

    def _frames(self, segment: Segment, stop: int, max_bytes: int) -> list[Frame]:
        """Intact frames from the head on."""
        known = self._place is not None and self._place[0] is segment
        offset = self._place[1] if known and self._place else 0
        found: list[Frame] = []
        expected, left = self._head, max_bytes
        with Reader(self._disk, segment) as reader:
            for frame in reader.frames(offset, self._head):
                if frame.number >= stop:
                    break
                if frame.number < self._head:
                    continue
                if frame.record is not None:
                    left -= len(frame.record)
                    if found and left < 0:
                        return found
                    found.append(frame)
                segment.damaged |= frame.record is None or frame.number != expected
                expected = frame.number + 1
        segment.damaged |= expected != stop
        return found

    def _advance(self, head: int, delivered: int) -> None:
        """The head goes on; what was passed over without being delivered is damaged."""
        with self._lock:
            lost = head - self._head - delivered
            if lost:
                self._damaged += lost
                _log.error("%d records in %s are damaged and lost", lost, self._directory)
            self._head = head
            self._save()
            self._remove_passed()

    def _save(self) -> None:
        try:
            spool_directory.save(self._disk, self._directory, Checkpoint(self._head, self._next, self._until))
        except OSError as error:
            _log.warning("the spool's position is not written down: %s", error)

    def _remove_passed(self) -> None:
        for segment in [segment for segment, stop in self._with_stops() if stop <= self._head]:
            if self._writing is not None and self._writing.segment is segment:
                self._end_segment()
            self._remove(segment)

    def _remove(self, segment: Segment) -> None:
        """Remove a segment, or set it aside; where that fails it stays, and is tried again later."""
        try:
            if segment.damaged and segment.taken:
                self._aside.append(spool_directory.set_aside(self._disk, segment))
            else:
                with suppress(FileNotFoundError):
                    self._disk.remove(segment.path)
        except OSError as error:
            _log.warning("the spool's file %s is not removed: %s", segment.path, error)
            return
        self._segments.remove(segment)
