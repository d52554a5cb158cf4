"""What arrived since the last labelling pass, in bounded pieces: the watermark is on arrival, never on span time.

A row becomes visible some time after the moment it carries: a slow insert, a replica that lags. So each pass looks a
few minutes behind the watermark too, and leaves out the moments that look as they did before.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from overclaim_detectors import sql
from overclaim_detectors.store import Params, Store

OVERLAP_MS = 300_000
ROWS_PER_PIECE = 50_000
SPANS_PER_BATCH = 20_000
TRACES_PER_BATCH = 500
# One trace of more spans than this is no agent run; reading it whole would cost everybody else their turn.
MAX_TRACE_SPANS = 100_000
# A batch reads the time from its first to its last span, so a trace with a wrong clock must not share it.
MAX_GAP_NS = 24 * 3_600_000_000_000

Moments = Mapping[int, int]  # Unix milliseconds -> a hash of what arrived then
Extent = tuple[str, int, int, int]  # trace, its spans, the first and the last start of them in Unix nanoseconds


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
    moments: Moments = field(default_factory=dict[int, int])


class Inbox:
    """Hands out pieces of new arrivals; `done` moves the watermark, so a crash in between repeats the piece."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: Moments = {}
        self._since: int | None = None
        self._still: Sequence[object] = ()

    def next(self) -> Piece | None:
        """Return the next piece, or None when nothing new has arrived."""
        state = self._state()
        if state and state == self._still:
            return None
        after, last = self._position()
        until = self._until(after)
        time_span = {"since": after - OVERLAP_MS, "until": until or after}
        moments = self._moments(time_span)
        fresh = {moment for moment, content in moments.items() if self._seen.get(moment) != content}
        if not fresh and until is None:
            self._still, self._since = state, after - OVERLAP_MS
            return None
        version = max(last + 1, time.time_ns() // 1_000_000)
        return Piece(until or after, version, *self._batches(self._entered(fresh), time_span), moments)

    def done(self, piece: Piece) -> None:
        """Write down that a piece was worked on."""
        self._store.command(sql.load("label/advance"), {"job": "label", "until": piece.until, "version": piece.version})
        oldest = piece.until - OVERLAP_MS
        self._seen = {moment: content for moment, content in piece.moments.items() if moment >= oldest}

    def _state(self) -> Sequence[object]:
        """What tells that nothing has changed since there was nothing to do; one question instead of three."""
        since = {"since": self._since}
        return () if self._since is None else self._store.query(sql.load("label/still"), since).rows[0]

    def _position(self) -> tuple[int, int]:
        rows = self._store.query(sql.load("label/position"), {"job": "label"}).rows
        return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)

    def _until(self, after: int) -> int | None:
        params = {"after": after, "rows": ROWS_PER_PIECE}
        return self._store.query(sql.load("label/until"), params).rows[0][0]

    def _moments(self, time_span: Params) -> Moments:
        rows = self._store.query(sql.load("label/moments"), time_span).rows
        return {int(moment): int(content) for moment, content in rows}

    def _entered(self, moments: Collection[int]) -> list[str]:
        """The traces that received something at these moments; when their first spans arrived is written down."""
        if not moments:
            return []
        params = {"since": min(moments), "until": max(moments)}
        rows = self._store.query(sql.load("label/touched"), params).rows
        self._store.command(sql.load("label/enter_arrivals"), params)
        return sorted({str(trace) for trace, moment in rows if int(moment) in moments})

    def _batches(self, traces: Sequence[str], time_span: Params) -> tuple[tuple[Batch, ...], tuple[str, ...]]:
        received = [extent for some in _chunks(traces, 5_000) for extent in self._extents(some, time_span)]
        found = [self._counted(extent) if _is_large(extent) else extent for extent in received]
        too_large = list(filter(_is_large, found))
        enter_traces(self._store, too_large)
        return tuple(_pack([extent for extent in found if not _is_large(extent)])), tuple(one[0] for one in too_large)

    def _extents(self, traces: Sequence[str], time_span: Params) -> list[Extent]:
        rows = self._store.query(sql.load("label/extents"), {"traces": list(traces), **time_span}).rows
        return [(str(trace), int(spans), int(first), int(last)) for trace, spans, first, last in rows]

    def _counted(self, extent: Extent) -> Extent:
        """The same with the number of spans that there really are."""
        rows = self._store.query(sql.load("label/sizes"), _batch([extent]).params()).rows
        return (extent[0], sum(int(spans) for _, spans in rows), *extent[2:])


def enter_traces(store: Store, extents: Iterable[Extent]) -> None:
    """Write down where the spans of some traces lie and how many there are, each counted once.

    Raises:
        StoreError: the store failed.
    """
    if columns := list(zip(*extents, strict=True)):
        names = ("traces", "spans", "firsts", "lasts")
        store.command(sql.load("label/enter_traces"), dict(zip(names, map(list, columns), strict=True)))


def _is_large(extent: Extent) -> bool:
    return extent[1] > MAX_TRACE_SPANS


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
