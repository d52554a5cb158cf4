"""How much disk the spans and log records of a store may take: the oldest go first, by when they came.

Refused items count as well, and go before any spans.

What was found in them stays: verdicts, findings and the tables of runs, calls and claims are not touched.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Final

from overclaim._errors import StoreError
from overclaim_detectors import sql
from overclaim_detectors.cluster import cluster_of
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.store")
_JOB: Final = "disk"  # in overclaim_watermark
_REFUSED: Final = ("overclaim_quarantine",)
_RECEIVED: Final = ("otel_traces", "otel_logs")
_GOAL: Final = 0.9  # of the budget: so that the next span does not start it all over
KEPT_SECONDS: Final = 600  # what came within these is never removed, however small the budget


@dataclass(frozen=True, slots=True)
class Freed:
    """What was removed: rows, their bytes on the disk, and the moment before which all of them came."""

    rows: int = 0
    bytes: int = 0
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Taken:
    bytes: int
    rows: int
    small: bool


def enforce(store: Store, max_bytes: int) -> Freed:
    """Remove the oldest spans and log records where they take more than so many bytes; says what was removed.

    Refused items are part of those bytes; the oldest of them go first, and with them alone where that is enough.

    To be called now and then; once a minute is enough. It reads little where there is nothing to remove. The engine
    deletes the files of what it removed up to eight minutes later.

    Raises:
        StoreError: the engine could not remove them; or the store is a cluster, whose servers have disks of their own.
    """
    if cluster_of(store):
        raise StoreError("a budget for the disk is for a store on one server: use --retention-days for a cluster")
    tables = _taken(store)
    _keep_parts_small(store, tables)
    if _sum(tables) <= max_bytes or any(_at_work(store, table) for table in tables):
        return Freed()
    freed = [_free(store, names, max_bytes) for names in (_REFUSED, _RECEIVED)]
    if (left := _sum(_taken(store))) > max_bytes:
        _log.error("spans, log records and refused items still take %d MiB of %d MiB", left >> 20, max_bytes >> 20)
    return Freed(sum(one.rows for one in freed), sum(one.bytes for one in freed), freed[-1].before or freed[0].before)


def cut_off(store: Store, traces: Collection[str]) -> list[str]:
    """Those of some traces of which spans were removed here: what was found in them must not be judged by the rest.

    Raises:
        StoreError: the store failed.
    """
    removed = store.query(sql.load("label/position"), {"job": _JOB}).rows
    arrived = store.query(sql.load("normals/arrived"), {"traces": list(traces)}).rows if removed else []
    return [str(trace) for trace, moment in arrived if int(moment) < int(removed[0][0])]


def _taken(store: Store) -> dict[str, _Taken]:
    rows = store.query(sql.load("retention/taken")).rows
    return {str(name): _Taken(int(size), int(count), bool(small)) for name, size, count, small in rows}


def _sum(tables: Mapping[str, _Taken]) -> int:
    return sum(taken.bytes for taken in tables.values())


def _keep_parts_small(store: Store, tables: Mapping[str, _Taken]) -> None:
    for table, taken in tables.items():
        if not taken.small:
            store.command(sql.load("retention/small_parts"), {"table": table})


def _at_work(store: Store, table: str) -> bool:
    """Whether rows of the table are being deleted; a deletion that fails is taken back, or it would be for ever."""
    for mutation, reason in store.query(sql.load("retention/unfinished"), {"table": table}).rows:
        if not reason:
            return True
        store.command(sql.load("retention/give_up"), {"table": table, "id": mutation})
        raise StoreError(f"old rows of {table} could not be removed: {reason}")
    return False


def cut(arrived: Mapping[int, int], room: int, now: int) -> int:
    """The moment from which on everything that arrived fits into so many bytes.

    arrived: bytes by the minute of arrival; moments are Unix seconds. The newest minute is kept whatever it takes, and
    so is what arrived within KEPT_SECONDS.
    """
    newest_first = sorted(arrived, reverse=True)
    sums = list(accumulate(arrived[minute] for minute in newest_first))
    kept = max(1, bisect_right(sums, room))
    return min(newest_first[kept - 1], now - KEPT_SECONDS) if newest_first else 0


def _arrived(store: Store, tables: Mapping[str, _Taken]) -> Mapping[int, int]:
    """How many bytes arrived in each minute, as if all rows of a table were alike."""
    arrived = Counter[int]()
    for table, taken in tables.items():
        for minute, rows in store.query(sql.load("retention/arrivals"), {"table": table}).rows:
            arrived[int(minute)] += int(rows) * taken.bytes // max(1, taken.rows)
    return arrived


def _free(store: Store, names: Collection[str], max_bytes: int) -> Freed:
    """Remove the oldest of some tables where all together take too much; the others stay as they are."""
    all_tables = _taken(store)
    tables = {name: taken for name, taken in all_tables.items() if name in names}
    room = int(max_bytes * _GOAL) - (_sum(all_tables) - _sum(tables))
    arrived: Mapping[int, int] = _arrived(store, tables) if _sum(all_tables) > max_bytes else {}
    now = int(time.time())
    # Of refused items nothing must stay for its own sake: as if some without any bytes came just now.
    before = cut(arrived if names is _RECEIVED else {**arrived, now: 0}, room, now)
    if not any(minute < before for minute in arrived):
        return Freed()
    if names is _RECEIVED:
        _remember(store, before)
    for table in tables:
        _remove(store, table, before)
    return _said(all_tables, _taken(store), before, max_bytes)


def _remember(store: Store, before: int) -> None:
    """Write down what is about to be removed, for cut_off."""
    store.command(
        sql.load("label/advance"), {"job": _JOB, "until": before * 1000, "version": time.time_ns() // 1_000_000}
    )


def _remove(store: Store, table: str, before: int) -> None:
    """Drop the parts that are old as a whole, which needs no room, then delete old rows from others."""
    for (part,) in store.query(sql.load("retention/old_parts"), {"table": table, "before": before}).rows:
        store.command(sql.load("retention/drop_part"), {"table": table, "part": part})
    store.command(sql.load("retention/delete"), {"table": table, "before": before})


def _said(then: Mapping[str, _Taken], now: Mapping[str, _Taken], before: int, max_bytes: int) -> Freed:
    rows = sum(taken.rows for taken in then.values()) - sum(taken.rows for taken in now.values())
    freed = Freed(max(0, rows), max(0, _sum(then) - _sum(now)), datetime.fromtimestamp(before, UTC))
    if freed.rows:
        _log.warning(
            "spans, log records and refused items took %d MiB of %d MiB: %d that came before %s are removed, %d MiB",
            _sum(then) >> 20, max_bytes >> 20, freed.rows, freed.before, freed.bytes >> 20,
        )  # fmt: skip
    return freed
