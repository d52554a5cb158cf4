"""Refused items on their way into overclaim_quarantine, within bounds; they are written with the next insert."""

from __future__ import annotations

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
        # Items since the start, by who refused them; records of the spool that could not be read, each as one.
        self.counts = {"invalid": 0, "refused_by_store": 0, "unreadable": 0}

    def add(self, signal: Signal, refused: Sequence[Refused]) -> None:
        """Take the refused items of one request."""
        self._take("invalid", signal, list(_rows(refused)))

    def add_whole(self, entry: Entry, reason: str) -> None:
        """Take a whole request that the store refuses."""
        content = entry.block[:LONGEST_REQUEST]
        self._take("refused_by_store", entry.signal, [(reason[:_LONGEST_REASON], entry.items, content)])

    def add_unreadable(self, signal: Signal, reason: str, content: bytes) -> None:
        """Take what was kept and cannot be read any more; it counts as no item."""
        self._take("unreadable", signal, [(reason[:_LONGEST_REASON], 0, content[:LONGEST_REQUEST])])

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

    def _take(self, kind: str, signal: Signal, found: list[tuple[str, int, bytes]]) -> None:
        now = datetime.now(UTC)
        with self._lock:
            for reason, items, content in found:
                self.counts[kind] += items or 1
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
