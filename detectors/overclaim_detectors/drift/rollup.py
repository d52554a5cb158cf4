"""The rollup of behaviour: quarters of an hour are counted as a whole, whenever runs in them were judged anew."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from overclaim_detectors import sql
from overclaim_detectors.store import Store

JOB = "behaviour"
OVERLAP_MS = 300_000  # a pass that began earlier may still write after one that began later
HOURS_TOGETHER = 24
MAX_SPAN = 7 * 86_400  # seconds from the first to the last hour of those that are counted together
_INTO = (
    "INSERT INTO overclaim_behaviour (Tick, ServiceName, Environment, Agent, AgentVersion, ServiceVersion, Model,"
    " Prompt, Tool, ToolVersion, Signal, Runs, Bad, Traces, Version)\n"
)

State = tuple[int, int]  # the newest pass over the runs of an hour, and how many rows there are of the latest ones


class Rollup:
    """Keeps overclaim_behaviour in step with what was judged. Remembers what it has just counted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[int, State] = {}

    def refresh(self) -> list[int]:
        """Count anew the hours whose runs were judged since the last time; their starts, in Unix seconds."""
        rows = self._store.query(sql.load("label/position"), {"job": JOB}).rows
        judged, counted = (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)
        states = self._states(max(0, judged - OVERLAP_MS))
        dirty = [hour for hour, state in states.items() if self._seen.get(hour) != state]
        if not dirty:
            return []
        version = max(counted + 1, time.time_ns() // 1_000_000)
        for hours in _together(dirty):
            self._count(hours, version)
        newest = max(judged, *(newest for newest, _ in states.values()))
        self._store.command(sql.load("label/advance"), {"job": JOB, "until": newest, "version": version})
        self._seen = states
        return dirty

    def _states(self, after: int) -> dict[int, State]:
        rows = self._store.query(sql.load("drift/dirty_hours"), {"after": after}).rows
        return {int(hour): (int(newest), int(touched)) for hour, newest, touched in rows}

    def _count(self, hours: Sequence[int], version: int) -> None:
        params = {"hours": list(hours), "earliest": min(hours), "latest": max(hours), "version": version}
        self._store.command(_INTO + sql.load("drift/behaviour"), params)
        self._store.command(sql.load("drift/retire_behaviour"), params)


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
