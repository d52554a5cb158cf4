"""Take requests in, and answer each when its rows are safe: in the spool, or without one in the store.

An insert takes ten times as long as an append to the spool, and a stock SDK loses spans while it waits for an answer.
So a request goes into the spool first, and the drainer moves it into the store, with what else came in a second.
A request whose very bytes were taken a moment ago is not taken again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Final

from overclaim_collector.otlp.items import Refused
from overclaim_collector.otlp.signals import Signal
from overclaim_collector.refusal import Refusal, invalid, unavailable
from overclaim_collector.writing.batches import Batches, Request
from overclaim_collector.writing.counts import Counts, Tally
from overclaim_collector.writing.drainer import Drainer
from overclaim_collector.writing.entry import Entry, Key
from overclaim_collector.writing.inserting import Inserter, Sink
from overclaim_collector.writing.quarantine import Quarantine
from overclaim_collector.writing.spool import Spool, SpoolFull

REMEMBERED: Final = 4096
MOST_BYTES: Final = 128 << 20  # of blocks that wait for their insert
_FULL: Final = "the store does not take data now, and there is no room to keep them: send again"
_STOPPING: Final = "the collector is stopping: send again"

_log = logging.getLogger(__name__)


class Writer:
    """Owns the threads that write to the store.

    spool: where requests wait for the store; without one their senders do.
    """

    def __init__(self, sink: Sink, spool: Spool | None = None) -> None:
        self._tally = Tally()
        self._inserter = Inserter(sink)
        self._quarantine = Quarantine(sink)
        self._drainer = spool and Drainer(spool, self._inserter, self._quarantine, self._tally, self._remember)
        self._batches = Batches()
        self._waiting = 0  # bytes of blocks whose senders wait
        self._open: dict[Key, Request] = {}
        self._safe: OrderedDict[Key, None] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="overclaim-writer", daemon=True)

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

    def settle(self, timeout: float) -> bool:
        """Wait until the store has all that was acknowledged; False where that takes more than `timeout` seconds.

        Returns at once while the store takes nothing.
        """
        return self._drainer.settle(timeout) if self._drainer else True

    def stop(self, timeout: float) -> bool:
        """Take nothing more, and write what was taken; False if that took longer than `timeout` seconds.

        What is in the spool stays there for the next start.
        """
        deadline = time.monotonic() + timeout
        with self._lock:
            if not self._closed:
                self._closed = True
                self._batches.close()
        if self._thread.is_alive():
            self._thread.join(timeout)
        if self._drainer:
            self._drainer.stop(max(0.0, deadline - time.monotonic()))
        return not self._thread.is_alive()

    def submit(self, entry: Entry) -> Future[None]:
        """Keep a request's items. The future ends when they are safe, or with a Refusal. May wait for the disk."""
        with self._lock:
            self._tally.add(entry.signal, received=entry.items)
            if known := self._known(entry.key):
                self._tally.add(entry.signal, repeated=entry.items)
                return known
            request = self._opened(entry)
        if self._drainer:
            self._keep(request, self._drainer)
        else:
            self._put(request)
        return request.done

    def refuse(self, signal: Signal, refused: Sequence[Refused]) -> None:
        """Count items that were refused before they came here, and put them into quarantine."""
        self._tally.add(signal, received=len(refused), refused=len(refused))
        self._quarantine.add(signal, refused)

    def _known(self, key: Key) -> Future[None] | None:
        """The answer for a request that came before, if it did."""
        if key in self._safe:
            return _finished()
        same = self._open.get(key)
        return same and same.done

    def _opened(self, entry: Entry) -> Request:
        if self._closed or self._waiting > MOST_BYTES:
            self._tally.add(entry.signal, refused=entry.items)
            raise unavailable(_STOPPING if self._closed else _FULL)
        request = Request(entry)
        request.done.set_running_or_notify_cancel()  # from here on nobody can cancel it
        self._open[entry.key] = request
        self._waiting += len(entry.block)
        return request

    def _keep(self, request: Request, drainer: Drainer) -> None:
        """Into the spool; where its disk fails, into the store."""
        try:
            drainer.keep(request.entry)
        except SpoolFull:
            self._fail(request, unavailable(_FULL))
        except OSError as error:
            _log.warning("the spool does not take a request, which goes into the store at once: %s", error)
            self._put(request)
        except BaseException:
            self._fail(request, unavailable("the collector failed on this request: send again"))
            raise
        else:
            self._succeed(request)

    def _put(self, request: Request) -> None:
        """Into the store, with others; not behind the end of what is written."""
        with self._lock:
            if not self._closed:
                self._batches.put(request)
                return
        self._fail(request, unavailable(_STOPPING))

    def _run(self) -> None:
        while (batch := self._batches.take()) is not None:
            if batch:
                self._write(batch)
            self._quarantine.write()
        self._quarantine.write(now=True)

    def _write(self, batch: list[Request]) -> None:
        requests = {request.entry.key: request for request in batch}
        outcome = self._inserter.insert(request.entry for request in batch)
        for entry in outcome.stored:
            self._succeed(requests[entry.key], stored=entry.items)
        for entry, reason in outcome.refused:
            self._quarantine.add_whole(entry, reason)
            self._fail(requests[entry.key], invalid(f"the store refuses these {entry.signal.item}s: {reason}"))
        for entry, _ in outcome.failed:
            self._fail(requests[entry.key], unavailable(_FULL))

    def _succeed(self, request: Request, stored: int = 0) -> None:
        self._remember(request.entry.key)
        with self._lock:
            self._close(request)
            self._tally.add(request.entry.signal, stored=stored)
        request.done.set_result(None)

    def _remember(self, key: Key) -> None:
        """Should it come again, it is safe."""
        with self._lock:
            self._safe[key] = None
            if len(self._safe) > REMEMBERED:
                self._safe.popitem(last=False)

    def _fail(self, request: Request, refusal: Refusal) -> None:
        with self._lock:
            self._close(request)
            self._tally.add(request.entry.signal, refused=request.entry.items)
        request.done.set_exception(refusal)

    def _close(self, request: Request) -> None:
        del self._open[request.entry.key]
        self._waiting -= len(request.entry.block)


def _finished() -> Future[None]:
    done: Future[None] = Future()
    done.set_result(None)
    return done
