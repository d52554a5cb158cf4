"""The rollup of behaviour: quarters of an hour are counted as a whole, whenever runs in them were judged anew.

A long history is counted piece by piece, the oldest hours first. Each piece is noted, so a stop costs one of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from overclaim_detectors import sql
from overclaim_detectors.store import Store

JOB = "behaviour"
BEGUN, PIECE = "behaviour begun", "behaviour piece"  # up to which pass, and up to which hour, a long count came
OVERLAP_MS = 300_000  # a pass that began earlier may still write after one that began later
HOURS_TOGETHER = 24
ROWS_TOGETHER = 100_000  # runs and verdicts of the hours that are counted together, where there is more than one
MAX_SPAN = 7 * 86_400  # seconds from the first to the last hour of those that are counted together
_INTO = (
    "INSERT INTO overclaim_behaviour (Tick, ServiceName, Environment, Agent, AgentVersion, ServiceVersion, Model,"
    " Prompt, Tool, ToolVersion, Signal, Runs, Bad, Values, Categories, Traces, Version)\n"
)

State = tuple[int, int]  # the newest pass over the runs of an hour, and how many rows there are of the latest ones


@dataclass(frozen=True, slots=True)
class Counted:
    """The hours that were counted anew (their starts, Unix seconds), all of them once there is no rest."""

    hours: list[int]
    rest: bool = False


@dataclass(frozen=True, slots=True)
class _Begun:
    """A count under way: it is about the passes up to newest, and came up to an hour (-1: none). version: its last."""

    newest: int
    upto: int
    version: int
    new: bool = False


class Rollup:
    """Keeps overclaim_behaviour in step with what was judged. Remembers what it has just counted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[int, State] = {}
        self._done: set[int] = set()

    def refresh(self, seconds: float = math.inf) -> Counted:
        """Count anew the hours whose runs were judged since the last time, one piece at least, for so many seconds.

        Where a rest remains, the next call goes on with it, in another process as well.
        """
        stop = time.monotonic() + seconds
        judged, counted = self._position(JOB)
        states = self._states(max(0, judged - OVERLAP_MS))
        dirty = {hour: state for hour, state in states.items() if self._seen.get(hour) != state}
        if not dirty:
            return Counted([])
        begun = self._begun(max(judged, *(latest for latest, _ in dirty.values())), counted)
        self._done |= {hour for hour, (latest, _) in dirty.items() if hour <= begun.upto and latest <= begun.newest}
        left = {hour: state for hour, state in dirty.items() if hour not in self._done or state[0] > begun.newest}
        if not self._pieces(list(_together(left)), states, begun, stop):
            return Counted(sorted(self._done), rest=True)
        done, self._done, self._seen = sorted(self._done), set[int](), states
        return Counted(done)

    def _begun(self, newest: int, counted: int) -> _Begun:
        """A count that was stopped, or a new one."""
        until, version = self._position(BEGUN)
        if version <= counted:
            return _Begun(newest, -1, counted, new=True)
        hour, latest = self._position(PIECE)
        return _Begun(until, hour // 1000 if latest > version else -1, max(version, latest))

    def _pieces(self, pieces: Sequence[list[int]], states: Mapping[int, State], begun: _Begun, stop: float) -> bool:
        """Count piece by piece, and note each; whether all were counted before it was time to stop."""
        upto, version = begun.upto, max(begun.version + 1, time.time_ns() // 1_000_000)
        if begun.new and len(pieces) > 1:
            self._note(BEGUN, begun.newest, version)
        for place, hours in enumerate(pieces, 1):
            version += 1
            self._count(hours, version)
            self._seen |= {hour: states[hour] for hour in hours}
            self._done |= {*hours}
            if place < len(pieces):
                upto = max(upto, *hours)
                self._note(PIECE, upto * 1000, version)
                if time.monotonic() >= stop:
                    return False
        self._note(JOB, begun.newest, version + 1)
        return True

    def _position(self, job: str) -> tuple[int, int]:
        rows = self._store.query(sql.load("label/position"), {"job": job}).rows
        return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)

    def _note(self, job: str, until: int, version: int) -> None:
        self._store.command(sql.load("label/advance"), {"job": job, "until": until, "version": version})

    def _states(self, after: int) -> dict[int, State]:
        rows = self._store.query(sql.load("drift/dirty_hours"), {"after": after}).rows
        return {int(hour): (int(newest), int(touched)) for hour, newest, touched in rows}

    def _count(self, hours: Sequence[int], version: int) -> None:
        params = {"hours": list(hours), "earliest": min(hours), "latest": max(hours), "version": version}
        self._store.command(_INTO + sql.load("drift/behaviour"), params)
        self._store.command(sql.load("drift/retire_behaviour"), params)


def _together(dirty: Mapping[int, State]) -> Iterator[list[int]]:
    """A few hours near each other with not too many rows, so that a count reads a short stretch of the tables."""
    held, rows = list[int](), 0
    for hour in sorted(dirty):
        more = dirty[hour][1]
        if held and (len(held) == HOURS_TOGETHER or hour - held[0] >= MAX_SPAN or rows + more > ROWS_TOGETHER):
            yield held
            held, rows = [], 0
        held.append(hour)
        rows += more
    if held:
        yield held
