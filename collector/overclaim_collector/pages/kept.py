"""An answer that many ask for: kept for a while, the longer the dearer it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

FRESH: Final = 2.0  # seconds in which an answer is good enough for everybody
REST: Final = 20.0  # one that is dear to make is good for so many times as long as that took

T = TypeVar("T")


class Kept(Generic[T]):
    """The answer of `make`. Those who ask at the same time share it; safe to use from many threads."""

    def __init__(self, make: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._make = make
        self._clock = clock
        self._lock = threading.Lock()
        self._held: tuple[T, float] | None = None  # with the time until which it is good

    def get(self) -> T:
        """The answer, as it was not long ago."""
        with self._lock:
            start = self._clock()
            if self._held is None or start > self._held[1]:
                value = self._make()
                end = self._clock()
                self._held = value, end + max(FRESH, (end - start) * REST)
            return self._held[0]
