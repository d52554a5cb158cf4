"""Drifts and their states: open, closed, accepted; what people do to them is written down."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from overclaim._errors import InputError
from overclaim_detectors import sql
from overclaim_detectors.drift import reference
from overclaim_detectors.drift.attribution import Causes, Part, causes
from overclaim_detectors.drift.budget import difference
from overclaim_detectors.drift.detector import CALM, LOOK_BACK, Evidence
from overclaim_detectors.drift.reference import Marker, Policy, Reference
from overclaim_detectors.drift.sentences import excess, sentence
from overclaim_detectors.drift.signals import Key, severity
from overclaim_detectors.store import Store

JOB = "drift"
OURSELVES = "overclaim"
CALM_AGAIN = "back to normal for 3 days"
NO_RUNS = "no such runs for 28 days"
LEAST_POINTS, LEAST_PART = 0.01, 0.1  # what surely changed, in points of one and as a part of the rate
LEAST_LATE_RUNS = 20
SAME_TIME = 24 * 3600
_LEVELS = ("service", "agent", "tool")
_KEY = ("ServiceName", "Environment", "Agent", "Tool", "Signal", "Level")
COLUMNS = (
    "DriftId", "Stream", *_KEY, "Direction", "State", "Shown", "Under", "AlarmAt", "ChangeAt", "LogE", "LogA", "RefBad",
    "RefRuns", "NowBad", "NowRuns", "Excess", "Severity", "Cause", "RateEffect", "MixEffect", "Marker", "Traces",
    "ClosedAt", "Reason", "Sentence", "Version",
)  # fmt: skip
_ACTION_COLUMNS = ("At", "Who", "What", "DriftId", "Stream", "Why", "Before", "After")
_AFTER = {"accept": "accepted", "close": "closed", "rebase": "closed", "reopen": "open"}
_What = tuple[Key, int]


@dataclass(frozen=True, slots=True)
class Drift:
    """One drift as it stands. alarm_at, closed_at: Unix milliseconds, 0 while it is open; change: Unix seconds."""

    id: str
    stream: str
    key: Key
    direction: int
    state: str
    shown: bool
    under: str
    alarm_at: int
    change: int
    log_e: float
    log_a: float
    ref_bad: int
    ref_runs: int
    now_bad: int
    now_runs: int
    excess: float
    severity: str
    cause: tuple[Part, ...]
    rate: float
    mix: float
    marker: str
    traces: tuple[str, ...]
    closed_at: int = 0
    reason: str = ""
    sentence: str = ""

    def row(self, version: int) -> tuple[object, ...]:
        """Its row in overclaim_drifts."""
        return (
            self.id, self.stream, *self.key, self.direction, self.state, int(self.shown), self.under, self.alarm_at,
            self.change, self.log_e, self.log_a, self.ref_bad, self.ref_runs, self.now_bad, self.now_runs, self.excess,
            self.severity, [tuple(part) for part in self.cause], self.rate, self.mix, self.marker, list(self.traces),
            self.closed_at, self.reason, self.sentence, version,
        )  # fmt: skip


@dataclass(slots=True)
class Changed:
    """What came of a pass: how many drifts were opened and closed by it, and how many are open."""

    opened: int = 0
    closed: int = 0
    open: int = 0


def current(store: Store, *, every: bool = False) -> list[Drift]:
    """The open drifts, or each one that there was, newest first."""
    return [_drift(row) for row in store.query(sql.load("drift/current"), {"all": int(every)}).dicts()]


def _drift(row: Mapping[str, Any]) -> Drift:
    return Drift(
        row["DriftId"], row["Stream"], Key(*(str(row[name]) for name in _KEY)), row["Direction"], row["State"],
        bool(row["Shown"]), row["Under"], row["AlarmAt"], row["ChangeAt"], row["LogE"], row["LogA"], row["RefBad"],
        row["RefRuns"], row["NowBad"], row["NowRuns"], row["Excess"], row["Severity"],
        tuple(_part(one) for one in row["Cause"]), row["RateEffect"], row["MixEffect"], row["Marker"],
        tuple(row["Traces"]), row["ClosedAt"], row["Reason"], row["Sentence"],
    )  # fmt: skip


def _part(one: Mapping[str, Any] | Sequence[Any]) -> Part:
    """A named tuple of the engine, which comes as a dictionary or as a tuple."""
    return Part(*(one.values() if isinstance(one, Mapping) else one))


# A pass and a decision, or two decisions, each read what is open and write what becomes of it: one after the other.
DECIDING: Final = threading.Lock()


def advance(
    store: Store, evidence: Sequence[Evidence], released: Sequence[Marker], until: int, now_ms: int, version: int
) -> Changed:
    """Open drifts where the evidence suffices, bring the open ones up to date, and close those that are over."""
    held = {(one.key, one.direction): one for one in current(store)}
    after = _without_runs_closed(store, held, until, now_ms)
    for what, one in _strongest(evidence).items():
        before = held.get(what)
        if before is None and one.margin < 0:
            continue
        after[what] = _seen(one, causes(store, one, released, until), before, now_ms)
        if before is not None and _over(one, until):
            after[what] = replace(after[what], state="closed", closed_at=now_ms, reason=CALM_AGAIN)
    _fold(after)
    _close_all(store, [one for one in after.values() if one.state != "open"], until, version)
    _write(store, [one for what, one in after.items() if one != held.get(what)], version)
    return Changed(
        len(after.keys() - held.keys()),
        sum(one.state != "open" for one in after.values()),
        sum(one.state == "open" for one in after.values()),
    )


def _without_runs_closed(store: Store, held: Mapping[_What, Drift], until: int, now_ms: int) -> dict[_What, Drift]:
    """What is held, with the drifts closed of which no runs came for as long as evidence is looked at."""
    rows = store.query(sql.load("drift/without_runs"), {"since": until - LOOK_BACK}).rows
    ended = {str(drift) for (drift,) in rows}
    return {
        what: replace(one, state="closed", closed_at=now_ms, reason=NO_RUNS) if one.id in ended else one
        for what, one in held.items()
    }


def _strongest(evidence: Sequence[Evidence]) -> dict[_What, Evidence]:
    """By key and direction: of its references, the one that speaks most clearly."""
    found: dict[_What, Evidence] = {}
    for one in sorted(evidence, key=lambda one: (one.margin, one.reference.stream)):
        found[one.reference.key, one.direction] = one
    return found


def _seen(one: Evidence, why: Causes, before: Drift | None, now_ms: int) -> Drift:
    ref = one.reference
    return Drift(
        before.id if before else _id(ref, one.direction),
        before.stream if before else ref.stream,
        ref.key, one.direction, "open", _large(one), "", before.alarm_at if before else now_ms, one.change,
        one.log_e, one.log_a, ref.bad, ref.runs, one.bad, one.runs, excess(one),
        severity(ref.key.signal, one.direction), why.parts, why.rate, why.mix,
        why.release.what if why.release else "", why.traces, sentence=sentence(one, why),
    )  # fmt: skip


def _id(ref: Reference, direction: int) -> str:
    return hashlib.sha256(f"{ref.stream}|{direction}|{ref.since}".encode()).hexdigest()[:16]


def _large(one: Evidence) -> bool:
    """Whether what surely changed is large enough to be worth anybody's time."""
    if not one.runs:
        return False
    low, high = difference((one.reference.bad, one.bad), (one.reference.runs, one.runs))
    sure = low if one.direction > 0 else -high
    return sure > LEAST_POINTS and sure > LEAST_PART * one.reference.rate


def _over(one: Evidence, until: int) -> bool:
    """Whether the last days look like the reference again, and more like it than like what came since the change."""
    if one.change > until - 2 * CALM or one.late_runs < LEAST_LATE_RUNS:
        return False
    low, high = difference((one.reference.bad, one.late_bad), (one.reference.runs, one.late_runs))
    was, now, late = one.reference.rate, one.bad / one.runs, one.late_bad / one.late_runs
    return low <= 0 <= high and abs(late - was) < abs(late - now)


def _fold(drifts: dict[_What, Drift]) -> None:
    """Put a drift of an agent or service under that of a tool or agent that makes up most of it."""
    for what, one in drifts.items():
        below = [other for other in drifts.values() if _explains(other, one)]
        lead = max(below, key=lambda other: (abs(other.excess), other.id), default=None)
        drifts[what] = replace(one, under=lead.id if lead else "")


def _explains(part: Drift, whole: Drift) -> bool:
    same = part.key.signal == whole.key.signal and part.direction == whole.direction and part.state == whole.state
    inside = part.key[:2] == whole.key[:2] and whole.key.agent in ("", part.key.agent)
    below = _LEVELS.index(part.key.level) > _LEVELS.index(whole.key.level)
    together = abs(part.change - whole.change) <= SAME_TIME and abs(part.excess) >= abs(whole.excess) / 2
    return same and inside and below and together


def accept(store: Store, drift_id: str, who: str, why: str, now: int, policy: Policy | None = None) -> Drift:
    """Take what a drift changed to for the new normal; its streams are watched against that from now on.

    So is what the drift makes up most of. now: Unix seconds.

    Raises:
        InputError: there is no such open drift, or too few runs since the change to be a reference.
    """
    drift, least = _open(store, drift_id), (policy or Policy()).least_runs
    if drift.now_runs < least:
        raise InputError(
            f"{drift.now_runs} runs since the change are too few to be a reference ({least}): wait, or close it"
        )
    end, version = _full_hour(now - 2 * reference.QUARTER, up=False), _version(store, now)
    for one in _with_wholes(store, drift):
        reference.rebase(store, _streams(store, one), one.change, max(end, one.change + 3600), version)
        _settle(store, one, "accept", who, why, now, version)
    return find(store, drift.id)


def close(store: Store, drift_id: str, who: str, why: str, now: int) -> Drift:
    """Put a drift away; its streams are watched anew from now on (Unix seconds), against the same reference.

    So is what the drift makes up most of.

    Raises:
        InputError: there is no such open drift.
    """
    drift, version = _open(store, drift_id), _version(store, now)
    for one in _with_wholes(store, drift):
        reference.restart(store, _streams(store, one), _full_hour(now, up=True), version)
        _settle(store, one, "close", who, why, now, version)
    return find(store, drift.id)


def rebase(
    store: Store, drift_id: str, who: str, why: str, now: int, begin: int, end: int, policy: Policy | None = None
) -> Drift:
    """Put a drift away, and compare its streams with another time from now on, from begin to end (Unix seconds).

    So is what the drift makes up most of.

    Raises:
        InputError: there is no such open drift, or that time is not over or has too few runs to be a reference.
    """
    drift, version, least = _open(store, drift_id), _version(store, now), (policy or Policy()).least_runs
    begin, end = _full_hour(begin, up=False), min(_full_hour(end, up=True), _full_hour(now, up=False))
    wholes = _with_wholes(store, drift)
    fewest = min(_runs_between(store, one, begin, end) for one in wholes) if begin < end else 0
    if fewest < least:
        raise InputError(f"{fewest} runs in that time are too few to be a reference ({least}): take a longer one")
    for one in wholes:
        since = _full_hour(now, up=True)
        reference.rebase(store, _streams(store, one), begin, end, version, since, "rebased")
        _settle(store, one, "rebase", who, why, now, version)
    return find(store, drift.id)


def reopen(store: Store, drift_id: str, who: str, why: str, now: int) -> Drift:
    """Take back that a drift was closed: its streams are watched from its change on again. So with what it explains.

    Raises:
        InputError: there is no such closed drift, its reference is another one by now, or it was opened anew.
    """
    drift, version = find(store, drift_id), _version(store, now)
    _refuse_to_reopen(store, drift)
    # What it explains was closed by the same decision, at the same time.
    every = [one for one in current(store, every=True) if one.under == drift.id and one.closed_at == drift.closed_at]
    for one in [*every, drift]:
        reference.restart(store, _streams(store, one), one.change, version)
        _settle(store, one, "reopen", who, why, now, version)
    return find(store, drift.id)


def _refuse_to_reopen(store: Store, drift: Drift) -> None:
    if drift.state != "closed":
        raise InputError(f"drift {drift.id} is {drift.state}: only one that is closed is opened again")
    if any((one.key, one.direction) == (drift.key, drift.direction) for one in current(store)):
        raise InputError(f"drift {drift.id} goes on in one that was opened since: see `overclaim drift list`")
    if not any(one.runs == drift.ref_runs for one in _streams(store, drift)):
        raise InputError(f"drift {drift.id} was against another reference than there is now: it cannot be opened again")


def find(store: Store, drift_id: str) -> Drift:
    """The drift of an id, or of the beginning of one.

    Raises:
        InputError: there is none, or more than one.
    """
    found = [one for one in current(store, every=True) if drift_id and one.id.startswith(drift_id)]
    if len(found) != 1:
        many = "more than one drift" if found else "no drift"
        raise InputError(f"there is {many} {drift_id!r}: `overclaim drift list` names them")
    return found[0]


def _open(store: Store, drift_id: str) -> Drift:
    drift = find(store, drift_id)
    if drift.state != "open":
        raise InputError(f"drift {drift.id} is {drift.state} already")
    return drift


def _streams(store: Store, drift: Drift) -> list[Reference]:
    return [one for one in reference.references(store).values() if one.key == drift.key]


def _with_wholes(store: Store, drift: Drift) -> list[Drift]:
    """The drifts of agents and services that a drift makes up most of, and itself last."""
    return [*(one for one in current(store) if one.under == drift.id), drift]


def _runs_between(store: Store, drift: Drift, begin: int, end: int) -> int:
    key = drift.key
    about = {
        "service": key.service, "environment": key.environment, "agent": key.agent, "tool": key.tool,
        "signal": key.signal, "from": begin, "until": end,
    }  # fmt: skip
    return int(store.query(sql.load("drift/count_runs"), about).rows[0][0])


def _settle(store: Store, drift: Drift, what: str, who: str, why: str, now: int, version: int) -> None:
    """References first, the drift next, who did it last: repeated after a crash, all of it comes to the same."""
    state = _AFTER[what]
    ended = {"closed_at": 0, "reason": ""} if state == "open" else {"closed_at": now * 1000, "reason": why}
    after = replace(drift, state=state, **ended)
    _write(store, [after], version)
    _note(store, drift, after, who, what, why, now * 1000)


def _close_all(store: Store, drifts: Sequence[Drift], until: int, version: int) -> None:
    for drift in drifts:
        reference.restart(store, _streams(store, drift), _full_hour(until, up=True), version)
        _note(store, replace(drift, state="open"), drift, OURSELVES, "close", drift.reason, drift.closed_at)


def _note(store: Store, before: Drift, after: Drift, who: str, what: str, why: str, at: int) -> None:
    states = [json.dumps({"state": one.state, "now": [one.now_bad, one.now_runs]}) for one in (before, after)]
    store.insert("overclaim_actions", _ACTION_COLUMNS, [(at, who, what, after.id, after.stream, why, *states)])


def _write(store: Store, drifts: Sequence[Drift], version: int) -> None:
    if drifts:
        store.insert("overclaim_drifts", COLUMNS, [one.row(version) for one in drifts])


def _full_hour(seconds: int, *, up: bool) -> int:
    return (seconds + (3599 if up else 0)) // 3600 * 3600


def _version(store: Store, now: int) -> int:
    """A number above that of every pass that has begun by now, whatever its clock said: what people decide stands."""
    rows = store.query(sql.load("label/position"), {"job": JOB}).rows
    return max([now * 1000 + 999, *(int(version) + 1 for _, version in rows)])
