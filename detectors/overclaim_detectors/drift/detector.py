"""The e-detector over streams: what evidence there is that they left their references."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from overclaim_detectors import sql
from overclaim_detectors.drift.budget import smallest_change
from overclaim_detectors.drift.reference import DAY, Reference
from overclaim_detectors.drift.signals import NAMED
from overclaim_detectors.store import Store

LOOK_BACK = 28 * DAY
CALM = 3 * DAY  # how long a drift must be away to count as over
_TOGETHER = 500
_COLUMNS = (
    "Stream", "Direction", "ServiceName", "Environment", "Agent", "Tool", "Signal", "Level", "LogSum", "LogA",
    "ChangeAt", "Bad", "Runs", "SmallestChange", "Ticks", "UntilTick", "Version",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where one stream stands against its reference in one direction, by the part that speaks most clearly.

    log_e, log_a: evidence so far and what an alarm takes. bad, runs: since the change most likely began (change, Unix
    seconds); late_bad, late_runs: of the last days. ticks: quarters of an hour with runs that were looked at.
    """

    reference: Reference
    direction: int
    log_e: float
    log_a: float
    change: int
    bad: int
    runs: int
    late_bad: int
    late_runs: int
    ticks: int

    @property
    def margin(self) -> float:
        """By how much the evidence is more than enough."""
        return self.log_e - self.log_a


class Moment(NamedTuple):
    """The evidence of one stream and direction as it was at a quarter of an hour (Unix seconds)."""

    stream: str
    direction: int
    at: int
    log_e: float
    change: int


def evaluate(
    store: Store,
    streams: Sequence[str],
    known: Mapping[str, Reference],
    log_a: Mapping[tuple[str, int], float],
    until: int,
) -> list[Evidence]:
    """The evidence of some streams from the runs that started before `until` (Unix seconds)."""
    found: list[Evidence] = []
    for start in range(0, len(streams), _TOGETHER):
        params = {
            "streams": list(streams[start : start + _TOGETHER]), "since": until - LOOK_BACK, "until": until,
            "recent": until - CALM, "named": NAMED,
        }  # fmt: skip
        for stream, direction, log_e, *rest in store.query(sql.load("drift/evidence"), params).rows:
            *counts, part, bad, edge, parts = rest
            of = replace(known[str(stream)], part=str(part), bad=int(bad), edge=int(edge), parts=int(parts))
            key = (of.stream, int(direction))
            found.append(Evidence(of, key[1], float(log_e), log_a[key], *map(int, counts)))
    return found


def replay(store: Store, streams: Sequence[str], until: int, every: int = 1, since: int = 0) -> list[Moment]:
    """The evidence of a few streams at every quarter of an hour with runs, or at the last one of each hour (4)."""
    params = {"streams": list(streams), "since": since, "until": until, "every": every}
    return [Moment(*row) for row in store.query(sql.load("drift/replay"), params).rows]


def keep(store: Store, evidence: Sequence[Evidence], until: int, version: int) -> None:
    """Write down where streams stand, so that reports need not work it out again."""
    rows = [
        (
            one.reference.stream, one.direction, *one.reference.key, one.log_e, one.log_a, one.change, one.bad,
            one.runs, _smallest(one), one.ticks, until, version,
        )
        for one in evidence
    ]  # fmt: skip
    store.insert("overclaim_drift_streams", _COLUMNS, rows)


def _smallest(one: Evidence) -> float:
    """The change that a week would show, if it were one of the named part alone: the others do not speak for it."""
    of = one.reference
    return smallest_change(of.likely, of.weekly, one.log_a + math.log(of.parts), one.direction)
