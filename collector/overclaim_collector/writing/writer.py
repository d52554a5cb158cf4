"""Coalesce requests, insert once, then answer each request.

An insert of 512 spans costs nearly as much as one of 8192, so requests that arrive together share one. A batch closes
when it holds ENOUGH items, after LINGER seconds, or as soon as it has as many requests as the last one had and no more
come for a moment: a single sender, who waits for each answer, must not be slowed down for company that never comes.

A request is answered only after its rows are in the store, or in the spool where the store takes none. A request whose
very bytes were stored a moment ago is not stored again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Final

from overclaim_collector.otlp.items import Refused
from overclaim_collector.otlp.signals import Signal
from overclaim_collector.refusal import Refusal, invalid, unavailable
from overclaim_collector.writing.counts import Counts, Tally
from overclaim_collector.writing.drainer import Drainer
from overclaim_collector.writing.entry import Entry, Key
from overclaim_collector.writing.inserting import Inserter, Outcome, Sink
from overclaim_collector.writing.quarantine import Quarantine
from overclaim_collector.writing.spool import Spool

ENOUGH: Final = 16_384
LINGER: Final = 0.2
QUIET: Final = 0.005  # where the last batch was a single request
LULL: Final = 0.02  # where it was more
REMEMBERED: Final = 4096
# An insert that takes longer does not hold up others: they go into the spool.
STUCK: Final = 2.0
MOST_BYTES: Final = 128 << 20  # of blocks that wait for their insert
_LOOK_SECONDS: Final = 0.5
_FULL: Final = "the store does not take data now, and there is no room to keep them: send again"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Request:
    entry: Entry
    done: Future[None] = field(default_factory=Future[None])


class Writer:
    """Owns the threads that write to the store.

    spool: where requests wait while the store takes none; without one they are refused.
    """

    def __init__(self, sink: Sink, spool: Spool | None = None) -> None:
        self._tally = Tally()
        self._inserter = Inserter(sink)
        self._quarantine = Quarantine(sink)
        self._drainer = spool and Drainer(spool, self._inserter, self._quarantine, self._tally)
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()
        self._queued = 0  # bytes of blocks
        self._open: dict[Key, _Request] = {}
        self._stored: OrderedDict[Key, None] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._company = 1  # requests in the last batch
        self._since = 0.0  # when the insert that is under way began; 0 while there is none
        self._thread = threading.Thread(target=self._run, name="overclaim-writer", daemon=True)
        self._watch = threading.Thread(target=self._relieve, name="overclaim-writer-watch", daemon=True)

    @property
    def counts(self) -> Mapping[str, Counts]:
        """Items since the start, by the name of the signal."""
        return self._tally.counts

    @property
    def quarantined(self) -> Mapping[str, int]:
        """Items that went into quarantine since the start, by who refused them."""
        return self._quarantine.counts

    @property
    def has_room(self) -> bool:
        """Whether requests are taken while the store takes none."""
        return self._drainer is not None and self._drainer.has_room

    def start(self) -> None:
        """Begin to write.

        Raises:
            StoreError: the store cannot be used at all.
        """
        self._inserter.probe()
        self._thread.start()
        if self._drainer:
            self._drainer.start()
            self._watch.start()

    def stop(self, timeout: float) -> bool:
        """Take nothing more, write what was taken; False if that took longer than `timeout` seconds."""
        with self._lock:
            if not self._closed.is_set():
                self._closed.set()
                self._queue.put(None)
        deadline = time.monotonic() + timeout
        for part in (self._thread, self._watch):
            if part.is_alive():
                part.join(max(0.0, deadline - time.monotonic()))
        if self._drainer:
            if self._thread.is_alive() and (waiting := self._all_queued()):
                self._keep(waiting)
            self._drainer.stop(max(0.0, deadline - time.monotonic()))
        return not self._thread.is_alive()

    def submit(self, entry: Entry) -> Future[None]:
        """Have a request's items written. The future ends when they are safe, or with a Refusal."""
        key = entry.key
        with self._lock:
            self._tally.add(entry.signal, received=entry.items)
            if key in self._stored:
                self._tally.add(entry.signal, repeated=entry.items)
                return _finished()
            if same := self._open.get(key):
                self._tally.add(entry.signal, repeated=entry.items)
                return same.done
            if self._closed.is_set() or self._queued > MOST_BYTES:
                self._tally.add(entry.signal, refused=entry.items)
                stopping = self._closed.is_set()
                raise unavailable("the collector is stopping: send again" if stopping else _FULL)
            request = _Request(entry)
            request.done.set_running_or_notify_cancel()  # from here on nobody can cancel it
            self._open[key] = request
            self._queued += len(entry.block)
        if self._is_open_breaker():
            self._keep([request])
        else:
            self._queue.put(request)
        return request.done

    def refuse(self, signal: Signal, refused: Sequence[Refused]) -> None:
        """Count items that were refused before they came here, and put them into quarantine."""
        self._tally.add(signal, received=len(refused), refused=len(refused))
        self._quarantine.add(signal, refused)

    def _is_open_breaker(self) -> bool:
        """Whether the way to the store is closed for new requests."""
        if self._drainer is None:
            return False
        # Where the spool is full nothing is won by it.
        return self._is_stuck() or (self._drainer.blocked and self._drainer.has_room)

    def _is_stuck(self) -> bool:
        since = self._since
        return bool(since) and time.monotonic() - since > STUCK

    def _run(self) -> None:
        while (batch := self._collect()) is not None:
            if batch:
                self._write(batch)
            self._write_quarantine()
        self._write_quarantine(now=True)

    def _write_quarantine(self, now: bool = False) -> None:
        with self._watched():
            self._quarantine.write(now)

    @contextmanager
    def _watched(self) -> Generator[None]:
        """For an insert: while it is stuck, others do not wait behind it."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._since = 0.0

    def _collect(self) -> list[_Request] | None:
        """The next batch; empty when none came for a while, None when there will be none."""
        try:
            first = self._queue.get(timeout=_LOOK_SECONDS)
        except Empty:
            return []
        if first is None:
            return None
        batch, items, deadline = [first], first.entry.items, time.monotonic() + LINGER
        while items < ENOUGH and (request := self._next(deadline, len(batch))):
            batch.append(request)
            items += request.entry.items
        self._company = len(batch)
        return batch

    def _next(self, deadline: float, so_far: int) -> _Request | None:
        left = max(0.0, deadline - time.monotonic())
        pause = QUIET if self._company == 1 else LULL
        try:
            request = self._queue.get(timeout=left if so_far < self._company else min(pause, left))
        except Empty:
            return None
        if request is None:
            self._queue.put(None)  # the end, for the next round
        return request

    def _write(self, batch: list[_Request]) -> None:
        requests = {request.entry.key: request for request in batch}
        with self._watched():
            outcome = self._inserter.insert(request.entry for request in batch)
        self._settle(outcome, requests)

    def _settle(self, outcome: Outcome, requests: Mapping[Key, _Request]) -> None:
        for entry in outcome.stored:
            self._succeed(requests[entry.key], stored=entry.items)
        for entry, reason in outcome.refused:
            self._quarantine.add_whole(entry, reason)
            self._fail(requests[entry.key], invalid(f"the store refuses these {entry.signal.item}s: {reason}"))
        for _, together in groupby(outcome.failed, key=lambda one: id(one[1])):
            self._keep([requests[entry.key] for entry, _ in together], blocked=True)

    def _keep(self, requests: list[_Request], blocked: bool = False) -> None:
        """Into the spool, or else back to the senders. blocked: since the store did not take an insert."""
        if self._drainer and self._drainer.keep([request.entry for request in requests], blocked):
            for request in requests:
                self._succeed(request)
        else:
            for request in requests:
                self._fail(request, unavailable(_FULL))

    def _relieve(self) -> None:
        """While an insert is stuck, what waits behind it goes into the spool."""
        while not self._closed.wait(_LOOK_SECONDS):
            if self._is_stuck() and (waiting := self._all_queued()):
                self._keep(waiting, blocked=True)

    def _all_queued(self) -> list[_Request]:
        found: list[_Request] = []
        try:
            while (request := self._queue.get_nowait()) is not None:
                found.append(request)
            self._queue.put(None)
        except Empty:
            pass
        return found

    def _succeed(self, request: _Request, stored: int = 0) -> None:
        key = request.entry.key
        with self._lock:
            del self._open[key]
            self._queued -= len(request.entry.block)
            self._stored[key] = None
            if len(self._stored) > REMEMBERED:
                self._stored.popitem(last=False)
            self._tally.add(request.entry.signal, stored=stored)
        request.done.set_result(None)

    def _fail(self, request: _Request, refusal: Refusal) -> None:
        with self._lock:
            del self._open[request.entry.key]
            self._queued -= len(request.entry.block)
            self._tally.add(request.entry.signal, refused=request.entry.items)
        request.done.set_exception(refusal)


def _finished() -> Future[None]:
    done: Future[None] = Future()
    done.set_result(None)
    return done
