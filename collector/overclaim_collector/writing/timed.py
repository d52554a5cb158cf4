"""How long inserts take: a store for the writer that measures them."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Final

from overclaim_collector.writing.inserting import Sink

# Upper bounds in seconds.
BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Timed:
    """Passes inserts on. Safe to use from many threads."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self._counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.failures = 0

    @property
    def within(self) -> list[int]:
        """How many inserts took no longer than each bound, and how many there were."""
        with self._lock:
            return list(accumulate(self._counts))

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Insert rows; all or nothing."""
        with self._measured():
            self._sink.insert(table, columns, rows, settings)

    def raw_insert(self, table: str, block: bytes, fmt: str, settings: Mapping[str, Any] | None = None) -> None:
        """Insert bytes in one of ClickHouse's formats; all or nothing."""
        with self._measured():
            self._sink.raw_insert(table, block, fmt, settings)

    @contextmanager
    def _measured(self) -> Generator[None]:
        begun = time.monotonic()
        failed = True
        try:
            yield
            failed = False
        finally:
            self._add(time.monotonic() - begun, failed)

    def _add(self, seconds: float, failed: bool) -> None:
        with self._lock:
            self._counts[bisect_left(BOUNDS, seconds)] += 1
            self.seconds += seconds
            self.failures += failed
