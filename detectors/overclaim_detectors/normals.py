"""What is normal for the tools of a store: learned from its newest calls, now and then, and kept in overclaim_normals.

A run is seen by the normals that were known when it was labelled, so the first pass over a new store knows none.
Verdicts on older runs stand when normals change; where later spans of such a run arrive, it is seen by the newer ones.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from overclaim.outcome.normals import NOT_FOUND, Counts, Normals
from overclaim_detectors import sql
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")
EVERY_S = 600.0
CALLS = 1_000_000  # the newest calls of a store; what it costs to learn stays the same however long the history is


class Learned:
    """The normals of a store: read when they are first asked for, and counted anew after work, every ten minutes."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._due = clock()
        self._normals: Normals | None = None

    def current(self) -> Normals:
        """What is known now."""
        if self._normals is None:
            self._normals = current(self._store)
        return self._normals

    def refresh(self) -> None:
        """Learn from what was labelled since, if it is time to. Where that fails, what was known before stays."""
        if self._clock() < self._due:
            return
        self._due = self._clock() + EVERY_S
        try:
            learn(self._store)
            self._normals = current(self._store)
        except Exception as error:  # verdicts are worth more than normals
            _log.warning("what is normal for the tools could not be learned: %s", error)


def learn(store: Store) -> None:
    """Count anew how the tools of a store answer."""
    params = {"calls": CALLS, "now": _now(), "not_found": f"(?i){NOT_FOUND.pattern}"}
    store.command(sql.load("normals/learn"), params)


def current(store: Store) -> Normals:
    """The normals that were learned last."""
    rows = store.query(sql.load("normals/current"), {"now": _now()}).rows
    return Normals({(service, tool): Counts(*map(int, counts)) for service, tool, *counts in rows})


def _now() -> int:
    return time.time_ns() // 1_000_000
