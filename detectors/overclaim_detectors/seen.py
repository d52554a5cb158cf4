"""What was seen in the runs of a quarter of an hour, counted by whole hours when runs in them were labelled anew."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from overclaim_detectors import sql
from overclaim_detectors.store import Store

JOB: Final = "seen"
OVERLAP_MS: Final = 300_000  # a pass that began earlier may still write after one that began later
HOURS_TOGETHER: Final = 48
MAX_SPAN: Final = 14 * 86_400  # seconds from the first to the last hour of those that are counted together
_INTO = (
    "INSERT INTO overclaim_seen (Kind, ServiceName, Environment, Agent, Tool, Value, Hour, Tick, Runs, First,"
    " FirstTrace, Last, LastTrace, Version)\n"
)

State = tuple[int, int]  # the newest pass over the runs of an hour, and how many rows there are of the latest ones


@dataclass(frozen=True, slots=True)
class Counted:
    """How many hours were counted anew, and whether all that had to be."""

    hours: int
    whole: bool = True


class Seen:
    """Keeps overclaim_seen in step with what was labelled. Remembers what it has just counted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, State] = {}

    def refresh(self, seconds: float) -> Counted:
        """Count anew the hours whose runs were labelled since the last time, for so long and a piece at least.

        Raises:
            StoreError: the store failed; what was not counted by then is, the next time.
        """
        stop = time.monotonic() + seconds
        rows = self._store.query(sql.load("label/position"), {"job": JOB}).rows
        labelled, counted = (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)
        states = self._states(max(0, labelled - OVERLAP_MS))
        dirty = [hour for hour, state in states.items() if self._known.get(hour) != state]
        version, done = max(counted + 1, time.time_ns() // 1_000_000), 0
        for hours in _together(dirty):
            if done and time.monotonic() > stop:
                return Counted(done, whole=False)
            self._count(hours, version)
            self._known |= {hour: states[hour] for hour in hours}
            done += len(hours)
        if dirty:
            newest = max(labelled, *(newest for newest, _ in states.values()))
            self._store.command(sql.load("label/advance"), {"job": JOB, "until": newest, "version": version})
            self._known = states
        return Counted(done)

    def _states(self, after: int) -> dict[int, State]:
        rows = self._store.query(sql.load("fleet/dirty_hours"), {"after": after}).rows
        return {int(hour): (int(newest), int(touched)) for hour, newest, touched in rows}

    def _count(self, hours: Sequence[int], version: int) -> None:
        params = {"hours": list(hours), "earliest": min(hours), "latest": max(hours), "version": version}
        self._store.command(_INTO + sql.load("fleet/seen"), params)
        self._store.command(sql.load("fleet/retire_seen"), params)


def _together(hours: Sequence[int]) -> Iterator[list[int]]:
    """A few hours near each other, so that a count reads a short stretch of the tables."""
    held: list[int] = []
    for hour in sorted(hours):
        if held and (len(held) == HOURS_TOGETHER or hour - held[0] >= MAX_SPAN):
            yield held
            held = []
        held.append(hour)
    if held:
        yield held
