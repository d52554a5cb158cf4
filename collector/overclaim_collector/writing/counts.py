"""How many items of each signal came in, and what became of them; exact to one item at any time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from overclaim_collector.otlp.signals import SIGNALS, Signal


@dataclass(slots=True)
class Counts:
    """Items of one signal since the start.

    received = stored + repeated + refused + waiting + lost + those under way. waiting: in the spool. lost: were in the
    spool, and could not be read any more. What a run before this one left in the spool is received when it is read.
    """

    received: int = 0
    stored: int = 0
    repeated: int = 0
    refused: int = 0
    waiting: int = 0
    lost: int = 0


class Tally:
    """The counts of all signals, by the signal's name. Safe to use from many threads."""

    def __init__(self) -> None:
        self.counts: Final[Mapping[str, Counts]] = {signal.name: Counts() for signal in SIGNALS}
        self._lock = threading.Lock()

    def add(self, signal: Signal, **changes: int) -> None:
        """Change counts together, such as waiting=-5, stored=5."""
        counts = self.counts[signal.name]
        with self._lock:
            for name, change in changes.items():
                setattr(counts, name, getattr(counts, name) + change)

    def lose_waiting(self) -> None:
        """The spool is empty: what still counts as waiting could not be read."""
        with self._lock:
            for counts in self.counts.values():
                counts.lost += counts.waiting
                counts.waiting = 0
