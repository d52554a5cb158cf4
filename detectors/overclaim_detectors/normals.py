"""What is normal for the tools of a store: learned from its newest calls, now and then, and kept in overclaim_normals.

A run is seen by the normals that were known when its first span arrived, now and whenever it is labelled again. So
spans that are delivered twice change nothing, no run has a vote about itself, and the first runs of a store know none.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial

from overclaim.outcome.normals import NOT_FOUND, Counts, Normals
from overclaim_detectors import sql
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")
EVERY_S = 600.0
CALLS = 1_000_000  # the newest calls of a store; what it costs to learn stays the same however long the history is
LASTS_MS = 30 * 24 * 3_600_000  # what was counted longer ago says nothing about today
_KEPT = 8
_NONE = Normals()


class Learned:
    """The normals of a store as they were at any time; they are counted anew after work, every ten minutes."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._due = clock()
        self._counted = lru_cache(_KEPT)(partial(counted, store))

    def of_traces(self, traces: Collection[str]) -> Mapping[str, Normals]:
        """By what the runs of some traces are seen: by what was known when the first span of the trace arrived."""
        if not traces:
            return {}
        rows = self._store.query(sql.load("normals/arrived"), {"traces": list(traces)}).rows
        # The moment of a trace may not be visible yet: then its spans came just now.
        moments = dict.fromkeys(traces, _now()) | {str(trace): int(moment) for trace, moment in rows}
        span = {"earliest": min(moments.values()), "latest": max(moments.values())}
        times = [int(learned) for (learned,) in self._store.query(sql.load("normals/times"), span).rows]
        return {trace: self._known(times, moment) for trace, moment in moments.items()}

    def now(self) -> Normals:
        """What is known now."""
        moment = _now()
        rows = self._store.query(sql.load("normals/times"), {"earliest": moment, "latest": moment}).rows
        return self._known([int(learned) for (learned,) in rows], moment)

    def _known(self, times: list[int], moment: int) -> Normals:
        place = bisect_left(times, moment)
        if not place or moment - times[place - 1] > LASTS_MS:
            return _NONE
        return self._counted(times[place - 1])

    def refresh(self) -> None:
        """Learn from what was labelled since, if it is time to. Where that fails, what was known before stays."""
        if self._clock() < self._due:
            return
        self._due = self._clock() + EVERY_S
        try:
            learn(self._store)
        except Exception as error:  # verdicts are worth more than normals
            _log.warning("what is normal for the tools could not be learned: %s", error)


def learn(store: Store) -> None:
    """Count anew how the tools of a store answer."""
    store.command(sql.load("normals/learn"), {"calls": CALLS, "not_found": f"(?i){NOT_FOUND.pattern}"})


def counted(store: Store, learned: int) -> Normals:
    """The normals by the count of some time (Unix milliseconds)."""
    rows = store.query(sql.load("normals/current"), {"learned": learned}).rows
    return Normals({(service, tool): Counts(*map(int, counts)) for service, tool, *counts in rows})


def _now() -> int:
    return time.time_ns() // 1_000_000
