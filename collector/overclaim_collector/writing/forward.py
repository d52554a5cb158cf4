"""Pass requests on to another OTLP endpoint, unchanged, without ever slowing down our own store.

Requests wait in memory, within a limit of bytes. Where the limit is reached the newest one is not taken: what was taken
stays taken, so that a request which is acknowledged because it is passed on is not thrown away for a later one. A few
threads send. While the endpoint fails in a way that may pass, all of them pause, each time longer; what has waited for
minutes by then is given up. Every request that was offered is counted, in one way only:
offered = delivered + full + refused + given_up + waiting.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from opentelemetry import context

from overclaim_collector.writing.forward_target import Fate, Outcome, Parcel, Target

SENDERS: Final = 4
PATIENCE: Final = 300.0
FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_QUIET: Final = 60.0
# OpenTelemetry's exporters set these, the first of which has no public name, so that nobody traces what they send.
_SUPPRESS: Final = (getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", ""), "suppress_instrumentation")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ForwardCounts:
    """Requests since the start. full: not taken, for lack of room. refused: by the other side, for good.

    given_up: after minutes of trying, or at the stop. waiting: in the queue or being sent. bytes: what these take.
    """

    offered: int = 0
    delivered: int = 0
    full: int = 0
    refused: int = 0
    given_up: int = 0
    waiting: int = 0
    bytes: int = 0

    @property
    def dropped(self) -> int:
        """What will never arrive."""
        return self.full + self.refused + self.given_up


class Forwarder:
    """A bounded queue and the threads that empty it.

    max_bytes: what may wait. patience: how many seconds a request is tried for. first_pause: seconds before the second
    try, doubled for each further one up to half a minute.
    """

    def __init__(
        self, target: Target, max_bytes: int, patience: float = PATIENCE, first_pause: float = FIRST_PAUSE
    ) -> None:
        self._target = target
        self._max_bytes = max_bytes
        self._patience = patience
        self._first_pause = first_pause
        self._changed = threading.Condition()  # of everything below
        self._queue: deque[Parcel] = deque()
        self._sending: list[Parcel] = []
        self._tally: dict[str, int] = dict.fromkeys(("offered", "delivered", "full", "refused", "given_up"), 0)
        self._bytes = 0
        self._failures = 0
        self._failing_since: float | None = None
        self._paused_until = 0.0
        self._closed = False
        self._notes = _Notes()
        self._threads = [
            threading.Thread(target=self._run, name=f"overclaim-forward-{n}", daemon=True) for n in range(SENDERS)
        ]

    @property
    def counts(self) -> ForwardCounts:
        """What became of the requests so far."""
        with self._changed:
            waiting = len(self._queue) + len(self._sending)
            return ForwardCounts(**self._tally, waiting=waiting, bytes=self._bytes)

    @property
    def failing_seconds(self) -> float:
        """For how long the endpoint has taken nothing that was sent; 0 while it answers."""
        with self._changed:
            return 0.0 if self._failing_since is None else time.monotonic() - self._failing_since

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def offer(self, path: str, body: bytes, content_type: str, content_encoding: str) -> bool:
        """Queue a request as it came, at once; False where there is no room, or after the stop."""
        parcel = Parcel(path, body, content_type, content_encoding)
        with self._changed:
            self._tally["offered"] += 1
            taken = not self._closed and self._bytes + parcel.size <= self._max_bytes
            if taken:
                self._queue.append(parcel)
                self._bytes += parcel.size
                self._changed.notify()
            else:
                self._tally["full"] += 1
        if not taken:
            self._notes.warn("no room for what is to be forwarded to %s: a request is not passed on", self._target.name)
        return taken

    def stop(self, timeout: float) -> bool:
        """Take nothing more, deliver what waits within `timeout` seconds; False where something was given up."""
        with self._changed:
            self._closed = True
            lost = -self._tally["given_up"]
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._queue and not self._sending, timeout)
            left = [*self._queue, *self._sending]
            self._queue.clear()
            self._sending.clear()  # who still sends one finds that it does not count any more
            for parcel in left:
                self._end(parcel, "given_up")
            lost += self._tally["given_up"]
        if lost:
            _log.warning("%d requests were not forwarded to %s before the stop", lost, self._target.name)
        return not lost

    def _run(self) -> None:
        for key in _SUPPRESS:
            context.attach(context.set_value(key, True))
        with self._target.session() as session:
            while (parcel := self._next()) is not None:
                self._settle(parcel, self._target.send(session, parcel))

    def _next(self) -> Parcel | None:
        """The next one to send, when it is time for it; None at the end."""
        with self._changed:
            while not self._queue or (self._pause() > 0 and not self._closed):
                if self._closed:
                    return None
                self._changed.wait(self._pause() if self._queue else None)
            parcel = self._queue.popleft()
            self._sending.append(parcel)
            return parcel

    def _pause(self) -> float:
        return self._paused_until - time.monotonic()

    def _settle(self, parcel: Parcel, outcome: Outcome) -> None:
        with self._changed:
            if not any(parcel is other for other in self._sending):
                return  # given up at the stop
            self._sending = [other for other in self._sending if other is not parcel]
            if outcome.fate is Fate.RETRY:
                self._try_again(parcel, outcome.pause)
            else:
                self._failures, self._failing_since = 0, None
                self._end(parcel, outcome.fate.value)
            self._changed.notify_all()
        if outcome.text:
            self._notes.warn(_SAID[outcome.fate], self._target.name, outcome.text)

    def _try_again(self, parcel: Parcel, asked: float) -> None:
        self._failing_since = self._failing_since or time.monotonic()
        if self._closed or time.monotonic() - parcel.since > self._patience:
            self._end(parcel, "given_up")
            return
        self._queue.appendleft(parcel)
        if self._pause() <= 0:  # else another thread found out a moment ago
            longest = min(self._first_pause * 2**self._failures, _LONGEST_PAUSE)
            self._failures = min(self._failures + 1, 10)
            asked = max(asked, longest * random.uniform(0.5, 1.0))
        self._paused_until = max(self._paused_until, time.monotonic() + asked)

    def _end(self, parcel: Parcel, count: str) -> None:
        self._tally[count] += 1
        self._bytes -= parcel.size


_SAID: Final = {
    Fate.DELIVERED: "%s took a request, but says: %s",
    Fate.RETRY: "%s takes no request now, they are tried again: %s",
    Fate.REFUSED: "%s refuses a request for good: %s",
}


class _Notes:
    """Says each thing once a minute at most, with how often it was not said."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}
        self._held_back: dict[str, int] = {}

    def warn(self, message: str, *values: object) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._said.get(message, -_QUIET) < _QUIET:
                self._held_back[message] = self._held_back.get(message, 0) + 1
                return
            self._said[message] = now
            more = self._held_back.pop(message, 0)
        _log.warning(message + (f" (and {more} more times in the last minute)" if more else ""), *values)
