"""The drift job: count behaviour, settle references, weigh the evidence, bring the drifts up to date."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from overclaim_detectors import sql
from overclaim_detectors.drift.budget import Budget, thresholds
from overclaim_detectors.drift.detector import evaluate, keep
from overclaim_detectors.drift.reference import QUARTER, Policy, Settling, markers, references
from overclaim_detectors.drift.rollup import Rollup
from overclaim_detectors.drift.states import DECIDING, Changed, advance
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")
JOB = "drift"
FIRST_S, EVERY_S = 60.0, 300.0
PIECE_S = 20.0  # a pass beside others counts so long, and leaves the rest of a long history to the next
NEXT_S = 5.0  # which then comes so soon
SETTLING = 900  # seconds after a quarter of an hour until its runs count: short runs must not come before long ones


@dataclass(frozen=True, slots=True)
class DriftPass:
    """What a pass came to: hours counted anew, streams looked at, drifts opened, closed, and open.

    rest: whether hours remain that must be counted before streams can be looked at.
    """

    hours: int = 0
    streams: int = 0
    opened: int = 0
    closed: int = 0
    open: int = 0
    rest: bool = False


class DriftJob:
    """Looks for drift in one store. What it needs stands in the store, so it can be stopped at any moment.

    clock: the time in Unix seconds.
    """

    def __init__(
        self,
        store: Store,
        budget: Budget | None = None,
        policy: Policy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._budget = budget or Budget()
        self._policy = policy or Policy()
        self._clock = clock
        self._rollup = Rollup(store)
        self._settling = Settling(store, self._policy)
        self._owed = set[int]()  # hours that were counted and not looked at yet
        self._due = time.monotonic() + FIRST_S

    def when_due(self) -> DriftPass | None:
        """A pass, if the last one was long enough ago. An error is logged, and judging goes on."""
        if time.monotonic() < self._due:
            return None
        pause = EVERY_S
        try:
            done = self.once(PIECE_S)
            pause = NEXT_S if done.rest else EVERY_S
        except Exception as error:  # verdicts are worth more than drift
            _log.warning("drift could not be looked for: %s", error)
            return None
        else:
            return done
        finally:
            self._due = time.monotonic() + pause

    def once(self, seconds: float = math.inf) -> DriftPass:
        """Look at everything that was judged by now. A long history is counted for so many seconds, and then left.

        Raises:
            StoreError: the store failed; the work is repeated at the next pass.
        """
        now = int(self._clock())
        until = now // QUARTER * QUARTER - SETTLING
        last, number = self._position()
        counted = self._rollup.refresh(seconds)
        self._owed.update(counted.hours)
        hours = sorted(self._owed)
        if counted.rest:
            return DriftPass(len(hours), rest=True)
        if not hours and (until <= last or not last):
            return DriftPass()
        version = max(number + 1, now * 1000)
        streams, changed = self._look(hours, last, until, version)
        done = {"job": JOB, "until": max(until, last) * 1000, "version": version}
        self._store.command(sql.load("label/advance"), done)
        self._owed.clear()
        return DriftPass(len(hours), streams, changed.opened, changed.closed, changed.open)

    def _look(self, hours: list[int], last: int, until: int, version: int) -> tuple[int, Changed]:
        since = min([last, *hours])
        released = markers(self._store, since, until, self._policy)
        self._settling.settle(hours, released, since, until, version)
        known = references(self._store)
        new = {"since": last, "hours": hours, "earliest": since}
        rows = self._store.query(sql.load("drift/active"), new).rows
        streams = [str(stream) for (stream,) in rows if stream in known]
        log_a = thresholds({stream: one.key for stream, one in known.items()}, self._budget)
        evidence = evaluate(self._store, streams, known, log_a, until)
        keep(self._store, evidence, until, version)
        self._store.command(sql.load("drift/note_states"), {"until": until, "version": version})
        with DECIDING:
            return len(streams), advance(self._store, evidence, released, until, version, version)

    def _position(self) -> tuple[int, int]:
        rows = self._store.query(sql.load("label/position"), {"job": JOB}).rows
        return (int(rows[0][0]) // 1000, int(rows[0][1])) if rows else (0, 0)
