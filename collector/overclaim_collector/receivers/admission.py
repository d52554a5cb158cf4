"""Bounds on the requests in work and on what they hold, so that pressure becomes a polite answer instead of memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from overclaim_collector.refusal import too_large, unavailable

# Of request bodies, compressed and plain; their blocks and rows take some three times as much.
MAX_BYTES: Final = 192 << 20
MAX_REQUESTS: Final = 256
# A parsed request may take ninety times its bytes: only small ones may be parsed in any number at the same time.
_SMALL: Final = 32 << 10
_PARSED_AT_ONCE: Final = 2
_PER_BYTE: Final = 3


class Admission:
    """Room for requests: so many bytes and so many requests at a time.

    A request whose body still arrives takes bytes only, and all of those together at most two thirds: senders that
    stall cannot shut out the others. short: whether the process has no memory left for anything new.
    """

    def __init__(
        self, max_bytes: int = MAX_BYTES, max_requests: int = MAX_REQUESTS, short: Callable[[], bool] = lambda: False
    ) -> None:
        self._short = short
        self.max_bytes = max_bytes
        self.max_arriving = max_bytes * 2 // 3
        self._bytes = max_bytes
        self._arriving = self.max_arriving
        self._requests = max_requests
        self._lock = threading.Lock()
        self._parsing = threading.Semaphore(_PARSED_AT_ONCE)

    @property
    def short(self) -> bool:
        """Whether the process has no memory left for anything new."""
        return self._short()

    @property
    def for_arriving_messages(self) -> int:
        """Bytes for messages that a library holds until all of it is here, and that nobody can count before.

        As many as the rows of the requests in work may take, and no more: see `memory`.
        """
        return _PER_BYTE * self.max_bytes

    @contextmanager
    def arrival(self) -> Generator[Claim]:
        """Room for the bytes of one request, from the first until it is answered.

        Raises:
            Refusal: UNAVAILABLE where memory is short.
        """
        if self.short:
            raise unavailable("the collector has no memory left at the moment: send again")
        claim = Claim(self)
        try:
            yield claim
        finally:
            self.change(-claim.taken, 0, -claim.arriving)

    @contextmanager
    def request(self) -> Generator[Claim]:
        """Room for one request that is all here, while it is in work.

        Raises:
            Refusal: UNAVAILABLE where there is none.
        """
        with self.arrival() as claim, claim.work():
            yield claim

    @contextmanager
    def parsing(self, size: int) -> Generator[None]:
        """Room to hold a body of `size` bytes as a parsed message; waits for it. Not longer than need be."""
        if size <= _SMALL:
            yield
            return
        with self._parsing:
            yield

    def change(self, size: int, requests: int, arriving: int = 0) -> None:
        """Take (or with negative numbers give back) room."""
        with self._lock:
            if size > self._bytes or requests > self._requests or arriving > self._arriving:
                raise unavailable("too much is in work at the moment: send again")
            self._bytes -= size
            self._requests -= requests
            self._arriving -= arriving


class Claim:
    """What one request has taken so far, and how much of it counts as still arriving."""

    def __init__(self, admission: Admission) -> None:
        self.taken = 0
        self.arriving = 0
        self._working = False
        self._admission = admission

    def take(self, size: int) -> None:
        """Take room for more bytes.

        Raises:
            Refusal: UNAVAILABLE where there is none, TOO_LARGE where there never will be.
        """
        arriving = 0 if self._working else size
        if self.taken + size > self._admission.max_bytes or self.arriving + arriving > self._admission.max_arriving:
            raise too_large("the request takes more memory than this collector may use: send smaller batches")
        self._admission.change(size, 0, arriving)
        self.taken += size
        self.arriving += arriving

    @contextmanager
    def work(self) -> Generator[None]:
        """The request is all here and is worked on.

        Raises:
            Refusal: UNAVAILABLE where too many are.
        """
        self._admission.change(0, 1, -self.arriving)
        self._working, self.arriving = True, 0
        try:
            yield
        finally:
            self._admission.change(0, -1)
