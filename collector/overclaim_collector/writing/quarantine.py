"""Refused items on their way into overclaim_quarantine, within bounds; they are written with the next insert."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from overclaim_collector.otlp.items import Refused, Row
from overclaim_collector.otlp.signals import Signal
from overclaim_collector.writing.entry import Entry
from overclaim_collector.writing.inserting import Sink

TABLE: Final = "overclaim_quarantine"
COLUMNS: Final = ("Received", "Signal", "Reason", "Items", "Content")
LONGEST_ITEM: Final = 64 << 10
LONGEST_REQUEST: Final = 1 << 20
# Rows with a content of their own, for each request.
MOST_ROWS: Final = 200
_LONGEST_REASON: Final = 500
_MOST_WAITING: Final = 16 << 20  # bytes that wait for the store; beyond them contents are left out
MOST_PER_HOUR: Final = 64 << 20  # bytes of contents; beyond them only reasons and counts are written

_HOUR: Final = 3600.0  # seconds
_PAUSE: Final = 1.0  # seconds; an insert makes a file that the store has to merge

_log = logging.getLogger(__name__)


class Quarantine:
    """What waits to be written. Safe to use from many threads."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self._rows: list[Row] = []
        self._bytes = 0
        self._next = 0.0  # when to write again
        self._left = _Left()
        # Items since the start, by who refused them; records of the spool that could not be read, each as one.
        self.counts = {"invalid": 0, "refused_by_store": 0, "unreadable": 0}

    def add(self, signal: Signal, refused: Sequence[Refused]) -> None:
        """Take the refused items of one request."""
        self._take("invalid", signal, list(_rows(refused)))

    def add_whole(self, entry: Entry, reason: str) -> None:
        """Take a whole request that the store refuses."""
        content = entry.block[:LONGEST_REQUEST]
        self._take("refused_by_store", entry.signal, [(reason[:_LONGEST_REASON], entry.items, content)])

    def keep(self, entry: Entry, reason: str) -> bool:
        """Write a whole request at once that its sender believes stored; False if it is not surely written.

        A long one becomes several rows, which together hold all of it; the first one counts its items.
        """
        return self._keep("refused_by_store", entry.signal, reason, entry.items, entry.block)

    def keep_unreadable(self, signal: Signal, reason: str, content: bytes) -> bool:
        """The same for what was kept and cannot be read any more; it counts as no item."""
        return self._keep("unreadable", signal, reason, 0, content)

    def write(self, now: bool = False) -> None:
        """Write what waits, though not more often than once a second; what the store does not take waits on."""
        with self._lock:
            if not self._rows or (time.monotonic() < self._next and not now):
                return
            self._next = time.monotonic() + _PAUSE
            rows, size = self._rows, self._bytes
            self._rows, self._bytes = [], 0
        try:
            self._sink.insert(TABLE, COLUMNS, rows)
        except Exception as error:  # the data themselves must not suffer from it
            _log.warning("%d rows of refused items are not written yet: %s", len(rows), error)
            with self._lock:
                self._rows, self._bytes = rows + self._rows, self._bytes + size
                self._shrink()

    def _keep(self, kind: str, signal: Signal, reason: str, items: int, content: bytes) -> bool:
        starts = range(0, max(1, len(content)), LONGEST_REQUEST)
        name = hashlib.sha256(content).hexdigest()
        for number, start in enumerate(starts, 1):
            part = f"part {number} of {len(starts)} of {name[:16]}: " if len(starts) > 1 else ""
            why = (part + reason)[:_LONGEST_REASON]
            row = (datetime.now(UTC), signal.name, why, 0 if start else items, content[start : start + LONGEST_REQUEST])
            try:
                self._sink.insert(TABLE, COLUMNS, [row], {"insert_deduplication_token": f"{name}-{number}"})
            except Exception as error:  # it stays where it is
                _log.warning("what is given up is not in quarantine yet: %s", error)
                return False
        with self._lock:
            self.counts[kind] += items or 1
        return True

    def _take(self, kind: str, signal: Signal, found: list[tuple[str, int, bytes]]) -> None:
        now = datetime.now(UTC)
        with self._lock:
            self.counts[kind] += sum(items or 1 for _, items, _ in found)
            for reason, items, content in self._left.fitting(found):
                self._rows.append((now, signal.name, reason, items, content))
                self._bytes += len(content)
            self._shrink()

    def _shrink(self) -> None:
        """Without contents, rows of the same reason are one."""
        if self._bytes <= _MOST_WAITING:
            return
        counts = Counter[tuple[str, str]]()
        for _, signal, reason, items, _ in self._rows:
            counts[signal, reason] += items
        now = datetime.now(UTC)
        self._rows = [(now, signal, reason, items, b"") for (signal, reason), items in counts.items()]
        self._bytes = 0


class _Left:
    """How many bytes of contents may still be kept in this hour: whoever sends rubbish must not fill the disk."""

    def __init__(self) -> None:
        self._bytes = 0
        self._until = 0.0

    def fitting(self, found: Sequence[tuple[str, int, bytes]]) -> Iterator[tuple[str, int, bytes]]:
        """What fits as it is, the rest without contents and counted by reason."""
        if time.monotonic() >= self._until:
            self._bytes, self._until = MOST_PER_HOUR, time.monotonic() + _HOUR
        others = Counter[str]()
        for reason, items, content in found:
            if content and len(content) <= self._bytes:
                self._bytes -= len(content)
                yield reason, items, content
            else:
                others[reason] += items
        for reason, items in others.items():
            yield reason, items, b""


def _rows(refused: Sequence[Refused]) -> Iterator[tuple[str, int, bytes]]:
    """(reason, items, content): the first ones with their content, the rest counted by reason."""
    left = LONGEST_REQUEST
    others = Counter[str]()
    for place, item in enumerate(refused):
        content = item.content[:LONGEST_ITEM]
        if place < MOST_ROWS and len(content) <= left:
            left -= len(content)
            yield item.reason[:_LONGEST_REASON], 1, content
        else:
            others[item.reason[:_LONGEST_REASON]] += 1
    for reason, items in others.items():
        yield reason, items, b""
