"""Load from this process: ready-made requests sent as fast as the server answers, and what it answered."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
from tests.faults.harness.served import Served


@dataclass(slots=True)
class Answers:
    """Spans by the last answer to their request (0: none), and the seconds that each answer of 200 took.

    again: how many requests were told to come again.
    """

    spans: Counter[int] = field(default_factory=Counter[int])
    again: int = 0
    seconds: list[float] = field(default_factory=list[float])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, status: int, spans: int, seconds: float) -> None:
        """Enter one answer."""
        with self.lock:
            self.spans[status] += spans
            if status == 200:
                self.seconds.append(seconds)


class Load:
    """Threads that send until the end; `make` gives a body and the number of spans in it.

    Like an exporter they send again what is answered with 503, for at most `patience` seconds.
    """

    def __init__(
        self,
        served: Served,
        make: Callable[[], tuple[bytes, int]],
        threads: int,
        pause: float = 0.0,
        patience: float = 0.0,
    ) -> None:
        self.answers = Answers()
        self._served, self._make, self._pause, self._patience = served, make, pause, patience
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(threads)]

    def __enter__(self) -> Answers:
        for thread in self._threads:
            thread.start()
        return self.answers

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        with httpx.Client(trust_env=False, timeout=60, headers={"content-type": "application/x-protobuf"}) as client:
            while not self._ended.wait(self._pause):
                self._deliver(client, *self._make())

    def _deliver(self, client: httpx.Client, body: bytes, spans: int) -> None:
        begun = time.monotonic()
        while True:
            sent = time.monotonic()
            status = _status(client, f"{self._served.http}/v1/traces", body)
            if status != 503 or time.monotonic() - begun >= self._patience:
                break
            with self.answers.lock:
                self.answers.again += 1
            time.sleep(1)
        self.answers.add(status, spans, time.monotonic() - sent)


def _status(client: httpx.Client, url: str, body: bytes) -> int:
    try:
        return client.post(url, content=body).status_code
    except httpx.HTTPError:
        return 0


def quantile(values: list[float], share: float) -> float:
    """The value below which that share of them lies; 0 where there are none."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0
