"""The queries over a batch of traces: a small batch is a list in the statement, a large one a table that it reads.

A list costs the engine some microseconds per name and place where the statement reads a table, so that thousands of
names cost more than the judging; a table costs some milliseconds more to plan, which is too much for a few traces.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from typing import Final

from overclaim_detectors import sql
from overclaim_detectors.cluster import cluster_of
from overclaim_detectors.inbox import MAX_GAP_NS, Batch
from overclaim_detectors.store import Rows, Store

LARGE: Final = 1_000  # traces
# What is judged together, of batches that were labelled one by one; more takes more memory.
TOGETHER: Final = 5_000  # traces
BATCHES: Final = 10
_LISTED: Final = "IN {traces:Array(String)}"
_COLUMNS: Final = ("Pass", "Part", "TraceId")
# Questions whose answer about a trace depends on no other trace and on nothing that is declared: each shard of a
# cluster answers them by itself. Rules from elsewhere may ask of anything.
_BY_TRACE: Final = (
    *(f"judge/{what}" for what in ("present", "ways", "operations", "verdicts", "failures", "accusations")),
    *(f"judge/retire_{what}" for what in ("operations", "verdicts", "failures")),
    "judge/close_findings",
    *(f"detect/{what}" for what in ("unnoticed", "tool_claims", "stamped_ok", "loops", "nothing_found", "handoffs")),
    *(f"detect/{what}" for what in ("truncated", "unverified")),
)


@cache
def _by_trace() -> tuple[str, ...]:
    return tuple(map(sql.load, _BY_TRACE))


def together(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Larger batches of batches that follow each other in time: what is asked of one costs much however small it is."""
    held: list[Batch] = []
    for batch in batches:
        if held and not _fits(held, batch):
            yield _merged(held)
            held = []
        held.append(batch)
    if held:
        yield _merged(held)


def _fits(held: list[Batch], batch: Batch) -> bool:
    traces = len(batch.traces) + sum(len(one.traces) for one in held)
    near = batch.earliest - max(one.latest for one in held) <= MAX_GAP_NS
    return near and traces <= TOGETHER and len(held) < BATCHES


def _merged(held: list[Batch]) -> Batch:
    traces = tuple(trace for one in held for trace in one.traces)
    return Batch(traces, min(one.earliest for one in held), max(one.latest for one in held))


class Batched:
    """Asks about the traces of a batch, in a pass of this number: the version of the rows that it writes.

    Every statement gets {version}, {earliest} and {latest}, and the traces where it reads `IN {traces:Array(String)}`.

    Raises:
        StoreError: the store failed.
    """

    def __init__(self, store: Store, batch: Batch, version: int) -> None:
        self.version = version
        self._store = store
        self._params = batch.params(version=version)
        self._large = len(batch.traces) > LARGE
        self._cluster = cluster_of(store)
        if self._large:
            # The same batch has the same number, so that a repeated pass reads what it needs, and perhaps twice.
            self._params["part"] = zlib.crc32("".join(batch.traces).encode())
            self._enter(batch)

    @cached_property
    def present(self) -> frozenset[str]:
        """What there is about the traces, of that which questions are about: queries/judge/present.sql has the names.

        As it is when this is first read, which must be after labelling.
        """
        return frozenset(str(what) for (what,) in self.query(sql.load("judge/present")).rows)

    def query(self, text: str, **params: object) -> Rows:
        """What a question about the traces answers."""
        return self._store.query(*self._bound(text, params))

    def command(self, text: str, **params: object) -> None:
        """Run a statement over the traces that returns nothing."""
        self._store.command(*self._bound(text, params))

    def _enter(self, batch: Batch) -> None:
        part = self._params["part"]
        if self.query(sql.load("judge/entered")).rows[0][0] < len(batch.traces):
            rows = [(self.version, part, trace) for trace in batch.traces]
            self._store.insert("overclaim_batch", _COLUMNS, rows)

    def _bound(self, text: str, params: dict[str, object]) -> tuple[str, dict[str, object]]:
        shards = self._cluster if text.endswith(_by_trace()) else None
        if self._large:
            text = text.replace(_LISTED, f"IN (\n{sql.load('judge/wanted')})")
        if shards:
            text = shards.on_shards(text)
        wanted = sql.placeholders(text)
        return text, {name: value for name, value in {**self._params, **params}.items() if name in wanted}
