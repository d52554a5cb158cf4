"""A bound on the requests in work, so that pressure becomes a polite answer instead of memory."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from overclaim_collector.refusal import unavailable

# Of request bodies in work, compressed and plain; their rows take some three times as much.
MAX_BYTES: Final = 192 << 20
MAX_REQUESTS: Final = 256


class Admission:
    """Room for requests: so many bytes and so many requests at a time."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_requests: int = MAX_REQUESTS) -> None:
        self._bytes = max_bytes
        self._requests = max_requests
        self._lock = threading.Lock()

    @contextmanager
    def request(self) -> Generator[Claim]:
        """Room for one request while it is in work.

        Raises:
            Refusal: UNAVAILABLE where there is none.
        """
        claim = Claim(self)
        self.change(0, 1)
        try:
            yield claim
        finally:
            self.change(-claim.taken, -1)

    def change(self, size: int, requests: int) -> None:
        """Take (or with negative numbers give back) room."""
        with self._lock:
            if size > self._bytes or requests > self._requests:
                raise unavailable("too much is in work at the moment: send again")
            self._bytes -= size
            self._requests -= requests


class Claim:
    """What one request has taken so far."""

    def __init__(self, admission: Admission) -> None:
        self.taken = 0
        self._admission = admission

    def take(self, size: int) -> None:
        """Take room for more bytes.

        Raises:
            Refusal: UNAVAILABLE where there is none.
        """
        self._admission.change(size, 0)
        self.taken += size
