"""What arrived since the last labelling pass, in bounded pieces: the watermark is on arrival, never on span time.

A row becomes visible a moment after the time it carries, so each pass looks a little behind the watermark too, and
leaves out what it has seen there before.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from overclaim_detectors import sql
from overclaim_detectors.store import Store

OVERLAP_MS = 10_000
ROWS_PER_PIECE = 50_000
SPANS_PER_BATCH = 20_000
TRACES_PER_BATCH = 500
# One trace of more spans than this is no agent run; reading it whole would cost everybody else their turn.
MAX_TRACE_SPANS = 100_000
# A batch reads the time from its first to its last span, so a trace with a wrong clock must not share it.
MAX_GAP_NS = 24 * 3_600_000_000_000

Arrival = tuple[str, int, int]  # trace, Unix milliseconds, spans
Extent = tuple[str, int, int, int]  # trace, spans received, the first and the last start of them in Unix nanoseconds


@dataclass(frozen=True, slots=True)
class Batch:
    """Traces worked on together, and the time in which their spans lie (Unix nanoseconds)."""

    traces: tuple[str, ...]
    earliest: int
    latest: int

    def without(self, traces: Collection[str]) -> Batch:
        """The batch but for some traces."""
        return replace(self, traces=tuple(trace for trace in self.traces if trace not in traces))

    def params(self, **more: object) -> dict[str, object]:
        """What the queries over a batch want bound."""
        return {"traces": list(self.traces), "earliest": self.earliest, "latest": self.latest, **more}


@dataclass(frozen=True, slots=True)
class Piece:
    """What arrived up to a moment (Unix milliseconds): the traces to work on, those too large, and the pass number."""

    until: int
    version: int
    batches: tuple[Batch, ...]
    too_large: tuple[str, ...] = ()
    arrivals: frozenset[Arrival] = frozenset()


class Inbox:
    """Hands out pieces of new arrivals; `done` moves the watermark, so a crash in between repeats the piece."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: frozenset[Arrival] = frozenset()

    def next(self) -> Piece | None:
        """Return the next piece, or None when nothing new has arrived."""
        after, last = self._position()
        until = self._until(after)
        arrivals = self._arrivals(after - OVERLAP_MS, until or after)
        fresh = sorted({arrival[0] for arrival in arrivals - self._seen})
        if not fresh and until is None:
            return None
        version = max(last + 1, time.time_ns() // 1_000_000)
        return Piece(until or after, version, *self._batches(fresh), arrivals)

    def done(self, piece: Piece) -> None:
        """Write down that a piece was worked on."""
        self._store.command(sql.load("label/advance"), {"job": "label", "until": piece.until, "version": piece.version})
        self._seen = frozenset(row for row in piece.arrivals if row[1] >= piece.until - OVERLAP_MS)

    def _position(self) -> tuple[int, int]:
        rows = self._store.query(sql.load("label/position"), {"job": "label"}).rows
        return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)

    def _until(self, after: int) -> int | None:
        params = {"after": after, "rows": ROWS_PER_PIECE}
        return self._store.query(sql.load("label/until"), params).rows[0][0]

    def _arrivals(self, since: int, until: int) -> frozenset[Arrival]:
        rows = self._store.query(sql.load("label/touched"), {"since": since, "until": until}).rows
        return frozenset((str(trace), int(arrived), int(spans)) for trace, arrived, spans in rows)

    def _batches(self, traces: Sequence[str]) -> tuple[tuple[Batch, ...], tuple[str, ...]]:
        found = [extent for some in _chunks(traces, 5_000) for extent in self._extents(some)]
        too_large = tuple(extent[0] for extent in found if extent[1] > MAX_TRACE_SPANS and self._is_too_large(extent))
        return tuple(_pack([extent for extent in found if extent[0] not in too_large])), too_large

    def _extents(self, traces: Sequence[str]) -> list[Extent]:
        rows = self._store.query(sql.load("label/extents"), {"traces": list(traces)}).rows
        return [(str(trace), int(spans), int(first), int(last)) for trace, spans, first, last in rows]

    def _is_too_large(self, extent: Extent) -> bool:
        rows = self._store.query(sql.load("label/sizes"), _batch([extent]).params()).rows
        return any(int(spans) > MAX_TRACE_SPANS for _, spans in rows)


def _chunks(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _pack(extents: Sequence[Extent]) -> Iterator[Batch]:
    """Traces close in time go together, so that a batch reads a short stretch of the tables."""
    held: list[Extent] = []
    spans = latest = 0
    for extent in sorted(extents, key=lambda one: (one[2], one[0])):
        full = len(held) == TRACES_PER_BATCH or spans + extent[1] > SPANS_PER_BATCH
        if held and (full or extent[2] - latest > MAX_GAP_NS):
            yield _batch(held)
            held, spans = [], 0
        latest = max(latest, extent[3]) if held else extent[3]
        held.append(extent)
        spans += extent[1]
    if held:
        yield _batch(held)


def _batch(extents: Sequence[Extent]) -> Batch:
    return Batch(tuple(one[0] for one in extents), min(one[2] for one in extents), max(one[3] for one in extents))
