"""Many senders at once: each takes the next request when its last one is answered, or when a set rate allows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from tests.bench.ingest.agent_runs import Body
from tests.bench.ingest.transports import Said, Transport

PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 1.0


@dataclass(slots=True)
class Sent:
    """What became of the spans: acknowledged, refused (for good, or of a request that was taken), unanswered.

    again: requests that were told to come again, and did. latencies: seconds from a request to its acknowledgement.
    """

    acknowledged: int = 0
    refused: int = 0
    unanswered: int = 0
    again: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list[float])

    @property
    def sent(self) -> int:
        """All of them."""
        return self.acknowledged + self.refused + self.unanswered

    def latency(self, share: float) -> float:
        """The latency below which that share lies, in milliseconds; 0 where nothing was acknowledged."""
        found = sorted(self.latencies)
        return found[min(len(found) - 1, int(len(found) * share))] * 1000 if found else 0.0


class _Senders:
    def __init__(self, bodies: Sequence[Body], rate: float) -> None:
        self.sent = Sent()
        self._bodies = iter(bodies)
        self._rate = rate
        self._begun = time.perf_counter()
        self._given = 0
        self._lock = threading.Lock()

    def run(self, make: Callable[[], Transport]) -> None:
        with closing(make()) as transport:
            while body := self._next():
                self._deliver(transport, body)

    def _next(self) -> Body | None:
        """The next request, at its time."""
        with self._lock:
            body, due = next(self._bodies, None), self._begun + (self._given / self._rate if self._rate else 0)
            self._given += body.spans if body else 0
        if body:
            time.sleep(max(0.0, due - time.perf_counter()))
        return body

    def _deliver(self, transport: Transport, body: Body) -> None:
        until = time.perf_counter() + PATIENCE_SECONDS
        while True:
            begun = time.perf_counter()
            said, rejected = transport.send(body.content)
            if said is not Said.AGAIN or begun > until:
                break
            with self._lock:
                self.sent.again += 1
            time.sleep(PAUSE_SECONDS)
        self._count(said, body.spans, rejected, time.perf_counter() - begun)

    def _count(self, said: Said, spans: int, rejected: int, took: float) -> None:
        with self._lock:
            if said is Said.TAKEN:
                self.sent.acknowledged += spans - rejected
                self.sent.refused += rejected
                self.sent.latencies.append(took)
            elif said is Said.NOTHING:
                self.sent.unanswered += spans
            else:
                self.sent.refused += spans


def send(bodies: Sequence[Body], senders: int, make: Callable[[], Transport], rate: float = 0.0) -> Sent:
    """Send all requests, by so many senders. rate: spans a second in all; 0 as fast as they are answered."""
    state = _Senders(bodies, rate)
    threads = [threading.Thread(target=state.run, args=(make,)) for _ in range(senders)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state.sent.seconds = time.perf_counter() - begun
    return state.sent
