"""Coalesce requests, insert once, then answer each request.

Inserting 512 spans costs nearly as much as inserting 8192, so requests that arrive together share an insert. A batch
closes when it holds ENOUGH spans, after LINGER seconds, or as soon as no request came for QUIET seconds: a single
sender, who waits for each answer, must not be slowed down for company that never comes.

A request is answered only after its rows are in the store. The insert carries a token made from the requests in it, so
the same insert sent twice is stored once; a request whose very bytes were stored a moment ago is not stored again.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol

from overclaim_collector.refusal import unavailable
from overclaim_collector.writing.entry import Entry

ENOUGH: Final = 4096
LINGER: Final = 0.2
QUIET: Final = 0.005
REMEMBERED: Final = 4096
_SETTINGS: Final = {
    # Spans of any age may arrive together; the default of 100 partitions would refuse the whole insert.
    "max_partitions_per_insert_block": 0,
    # The inbox is filled by a view: where only the view failed, the insert tried again must reach it all the same.
    "deduplicate_blocks_in_dependent_materialized_views": 1,
}

_log = logging.getLogger(__name__)


class Sink(Protocol):
    """The part of a store that writing needs."""

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Insert rows; all or nothing."""
        ...


@dataclass(slots=True)
class Counts:
    """Spans since the start: received = stored + repeated + refused + those under way."""

    received: int = 0
    stored: int = 0
    repeated: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class _Request:
    entry: Entry
    done: Future[None] = field(default_factory=Future[None])


class Writer:
    """Owns the thread that writes to the store."""

    def __init__(self, sink: Sink) -> None:
        self.counts = Counts()
        self._sink = sink
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()
        self._open: dict[bytes, _Request] = {}
        self._stored: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="overclaim-writer", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Take nothing more, write what was taken; False if that took longer than `timeout` seconds."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def submit(self, entry: Entry) -> Future[None]:
        """Have a request's items written. The future ends when they are stored, or with a Refusal."""
        with self._lock:
            self.counts.received += entry.items
            if entry.digest in self._stored:
                self.counts.repeated += entry.items
                return _finished()
            if same := self._open.get(entry.digest):
                self.counts.repeated += entry.items
                return same.done
            if self._closed:
                self.counts.refused += entry.items
                raise unavailable("the collector is stopping: send again")
            return self._take(_Request(entry))

    def count_refused(self, spans: int) -> None:
        """Count spans that were refused before they came here."""
        with self._lock:
            self.counts.received += spans
            self.counts.refused += spans

    def _take(self, request: _Request) -> Future[None]:
        request.done.set_running_or_notify_cancel()  # from here on nobody can cancel it
        self._open[request.entry.digest] = request
        self._queue.put(request)
        return request.done

    def _run(self) -> None:
        while batch := self._collect():
            self._write(batch)

    def _collect(self) -> list[_Request]:
        """The next batch; empty when there will be none."""
        first = self._queue.get()
        batch = [first] if first else []
        spans, deadline = first.entry.items if first else ENOUGH, time.monotonic() + LINGER
        while spans < ENOUGH and (request := self._next(deadline)):
            batch.append(request)
            spans += request.entry.items
        return batch

    def _next(self, deadline: float) -> _Request | None:
        try:
            request = self._queue.get(timeout=max(0.0, min(QUIET, deadline - time.monotonic())))
        except Empty:
            return None
        if request is None:
            self._queue.put(None)  # the end, for the next round
        return request

    def _write(self, batch: list[_Request]) -> None:
        if self._insert(batch):
            return
        if len(batch) > 1:  # one of them may be the cause: the others must not suffer from it
            for request in batch:
                if not self._insert([request]):
                    self._fail(request)
        else:
            self._fail(batch[0])

    def _insert(self, batch: list[_Request]) -> bool:
        token = hashlib.sha256(b"".join(request.entry.digest for request in batch)).hexdigest()
        rows = [row for request in batch for row in request.entry.rows()]
        signal = batch[0].entry.signal
        try:
            self._sink.insert(signal.table, signal.columns, rows, {**_SETTINGS, "insert_deduplication_token": token})
        except Exception as error:  # whatever it is, the senders must be told to come again
            _log.warning("%d spans in %d requests were not stored: %s", len(rows), len(batch), error)
            return False
        self._succeed(batch)
        return True

    def _succeed(self, batch: list[_Request]) -> None:
        with self._lock:
            for request in batch:
                del self._open[request.entry.digest]
                self._stored[request.entry.digest] = None
                self.counts.stored += request.entry.items
            while len(self._stored) > REMEMBERED:
                self._stored.popitem(last=False)
        for request in batch:
            request.done.set_result(None)

    def _fail(self, request: _Request) -> None:
        with self._lock:
            del self._open[request.entry.digest]
            self.counts.refused += request.entry.items
        request.done.set_exception(unavailable("the store does not take data now: send again"))


def _finished() -> Future[None]:
    done: Future[None] = Future()
    done.set_result(None)
    return done
