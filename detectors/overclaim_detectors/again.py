"""Judging again what was labelled before: after other rules, procedures or a repair of the tables; spans are not read.

It goes from the oldest hour to the newest, in batches far larger than those of passes over what arrives, and writes
down after each how far it came: what was interrupted goes on there.

Not beside detectors that label the same traces meanwhile: whoever read the older labels may be the last to write.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from overclaim_detectors import judging, sql
from overclaim_detectors.inbox import MAX_GAP_NS, Batch
from overclaim_detectors.registry import Registry, registry
from overclaim_detectors.runner import Pass
from overclaim_detectors.store import Store

TRACES: Final = 100_000  # in a batch; planning its questions costs a second however few they are
_JOB: Final = "again"  # in overclaim_watermark: up to which hour it came, the epoch where it came to its end
_FROM: Final = "again from"  # and where it began
_LIVE: Final = "label"
_HOUR_NS: Final = 3_600_000_000_000
_MS: Final = 1_000_000  # nanoseconds

Known = tuple[str, int, int]  # a trace, and the first and the last start in it in Unix nanoseconds


def judge_again(store: Store, since: datetime | None = None, rules: Registry | None = None) -> Pass:
    """Judge all runs again that started since then, or all there are, from what they were labelled as.

    Whoever repeats it after an interruption, for the same time or a shorter one, gets only what was left.

    Raises:
        StoreError: the store failed; what was judged by then is kept, and need not be judged again.
    """
    chosen = rules or registry()
    done = Pass(failed=dict(chosen.broken))
    start = _begun(store, 0 if since is None else int(since.timestamp()) * 1000)
    for first, last in _stretches(store, start * _MS):
        for batch in _batches(store, first, last):
            _judge(store, batch, chosen, done)
        _write(store, _JOB, last // _MS)
    _write(store, _JOB, 0)
    return done


def _begun(store: Store, since: int) -> int:
    """From where on to judge: what an earlier try came to, if it was for that time. Unix milliseconds."""
    reached, began = _read(store, _JOB), _read(store, _FROM)
    if reached and began <= since:
        return max(reached, since)
    _write(store, _FROM, since)
    return since


def _judge(store: Store, batch: Batch, rules: Registry, done: Pass) -> None:
    version = _version(store)
    asked = judging.judge(store, batch, version)
    found = judging.find(store, batch, version, rules.rules, asked)
    done.judged += len(batch.traces)
    done.findings += found.findings
    done.failed |= found.failed


def _stretches(store: Store, since: int) -> Iterator[tuple[int, int]]:
    """Stretches of whole hours that have about TRACES traces each: from one moment to another, excluded."""
    first, held = since, 0
    last = since
    for hour, traces in store.query(sql.load("judge/again_hours"), {"since": since}).rows:
        if held and held + int(traces) > TRACES:
            yield first, last
            first, held = last, 0
        held += int(traces)
        last = int(hour) * 1_000_000_000 + _HOUR_NS
    if held:
        yield first, last


def _batches(store: Store, since: int, until: int) -> Iterator[Batch]:
    """The traces of a stretch. One whose spans lie far from those of the one before begins another batch."""
    held: list[Known] = []
    for trace, first, last in store.query(sql.load("judge/again_traces"), {"since": since, "until": until}).rows:
        if held and (len(held) == TRACES or int(first) - held[-1][2] > MAX_GAP_NS):
            yield _batch(held)
            held = []
        held.append((str(trace), int(first), int(last)))
    if held:
        yield _batch(held)


def _batch(held: list[Known]) -> Batch:
    return Batch(tuple(one[0] for one in held), min(one[1] for one in held), max(one[2] for one in held))


def _version(store: Store) -> int:
    """A number above that of every pass so far."""
    rows = [row for job in (_LIVE, _JOB) for row in store.query(sql.load("label/position"), {"job": job}).rows]
    return max(time.time_ns() // _MS, *(int(version) + 1 for _, version in rows), 1)


def _read(store: Store, job: str) -> int:
    rows = store.query(sql.load("label/position"), {"job": job}).rows
    return int(rows[0][0]) if rows else 0


def _write(store: Store, job: str, moment: int) -> None:
    params = {"job": job, "until": moment, "version": _version(store)}
    store.command(sql.load("label/advance"), params)
