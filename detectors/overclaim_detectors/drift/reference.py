"""References: what each stream is compared with, and from when on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from overclaim_detectors import sql
from overclaim_detectors.drift.signals import MEASURED, NAMED, RISING, SIGNALS, Key
from overclaim_detectors.store import Store

DAY = 86_400
QUARTER = 900
_TOGETHER = 200  # references of a month with a dozen parts each still fit into memory


@dataclass(frozen=True, slots=True)
class Policy:
    """How much a reference takes: the least days and runs, at most so many days before a release.

    release_runs: how many runs make a new version, model or prompt a release.
    """

    least_days: int = 7
    least_runs: int = 100
    days: int = 28
    release_runs: int = 20


@dataclass(frozen=True, slots=True)
class Reference:
    """What one stream is compared with, in one part where it has several. Times are Unix seconds.

    deff: how many runs count as one. kind: of signal. part: quantile or category, empty for all other categories. edge:
    the bin from which on a run counts, of what is measured. parts: how many there are in a direction.
    """

    stream: str
    key: Key
    begin: int
    end: int
    runs: int
    bad: int
    deff: float
    since: int
    kind: str = "rate"
    part: str = ""
    edge: int = 0
    parts: int = 1

    @property
    def rate(self) -> float:
        """The rate in the reference."""
        return self.bad / self.runs if self.runs else 0.0

    @property
    def likely(self) -> float:
        """The rate that the reference lets expect: never quite none or all."""
        return (self.bad + 0.5) / (self.runs + 1)

    @property
    def weekly(self) -> float:
        """Independent runs a week."""
        return self.runs / self.deff * 7 * DAY / max(self.end - self.begin, 1)


class Marker(NamedTuple):
    """What was new about an agent, from when on, and when its first run was (Unix seconds)."""

    service: str
    environment: str
    agent: str
    what: str
    at: int
    begun: int


def references(store: Store) -> dict[str, Reference]:
    """All references in use, by stream."""
    rows = store.query(sql.load("drift/references"), {"signals": list(SIGNALS)}).rows
    return {
        str(stream): Reference(
            str(stream),
            Key(*map(str, key)),
            int(begin),
            int(end),
            int(runs),
            int(bad),
            float(deff),
            int(since),
            str(kind),
        )
        for stream, *key, begin, end, runs, bad, deff, kind, since in rows
    }


def markers(store: Store, since: int, until: int, policy: Policy) -> list[Marker]:
    """The releases of the agents that ran since then, oldest first for each agent."""
    params = {"since": since, "until": until, "runs": policy.release_runs, "days": policy.least_days}
    return [Marker(*row) for row in store.query(sql.load("drift/markers"), params).rows]


class Settling:
    """Gives streams their references. Remembers the releases that it has dealt with."""

    def __init__(self, store: Store, policy: Policy) -> None:
        self._store = store
        self._policy = policy
        self._released: set[Marker] = set()

    def settle(self, hours: Sequence[int], released: Sequence[Marker], since: int, until: int, version: int) -> None:
        """Take references for the streams with runs since `since`, and measure again those that cover some hours."""
        policy = self._policy
        params = {
            "since": since, "until": until, "days": policy.least_days, "runs": policy.least_runs, "named": NAMED,
            "version": version,
        }  # fmt: skip
        # A long history is read signal by signal, so that it need not fit into memory as a whole.
        at_once = [list(SIGNALS)] if len(hours) <= policy.days * 24 else [[name] for name in SIGNALS]
        for signals in at_once:
            self._store.command(sql.load("drift/take_first"), params | {"signals": signals})
        for _, ones in groupby(released, key=lambda one: one[:3]):
            self._release(list(ones), version)
        measure(self._store, hours, version + 1)

    def _release(self, ones: Sequence[Marker], version: int) -> None:
        """The newest release of an agent: compared with the time from the one before, or of the last weeks."""
        newest, before = ones[-1], [one.at for one in ones[:-1]]
        begin = max(newest.at - self._policy.days * DAY, *before, newest.begun)
        if newest in self._released or newest.at - begin < self._policy.least_days * DAY:
            return
        self._released.add(newest)
        params = {
            "service": newest.service, "environment": newest.environment, "agent": newest.agent, "from": begin,
            "until": newest.at, "runs": self._policy.least_runs, "marker": newest.what, "signals": list(SIGNALS),
            "version": version,
        }  # fmt: skip
        self._store.command(sql.load("drift/take_release"), params)


def measure(store: Store, hours: Sequence[int], version: int) -> None:
    """Fill in the priors of the references that have none yet, or that cover one of some hours."""
    rows = store.query(sql.load("drift/unmeasured"), {"hours": list(hours)}).rows
    streams = [str(stream) for (stream,) in rows]
    for start in range(0, len(streams), _TOGETHER):
        some = streams[start : start + _TOGETHER]
        params = {"streams": some, "version": version, "measured": MEASURED, "named": NAMED, "rising": RISING}
        store.command(sql.load("drift/measure_references"), params)


def restart(store: Store, streams: Sequence[Reference], since: int, version: int) -> None:
    """Watch streams anew from a time on (Unix seconds), against the references that they have."""
    _change(store, [replace(one, since=since) for one in streams], "", version)


def rebase(
    store: Store,
    streams: Sequence[Reference],
    begin: int,
    end: int,
    version: int,
    since: int = 0,
    why: str = "accepted",
) -> None:
    """Take the time from begin to end (Unix seconds) for the new reference of streams.

    They are watched from `since` on, or from its end where that is later. why: accepted or rebased.
    """
    changed = [replace(one, begin=begin, end=end, since=max(end, since)) for one in streams]
    _change(store, changed, why, version)
    measure(store, [], version + 1)


def _change(store: Store, changed: Sequence[Reference], reason: str, version: int) -> None:
    for one in changed:
        params = {
            "stream": one.stream, "from": one.begin, "until": one.end, "since": one.since, "reason": reason,
            "version": version,
        }  # fmt: skip
        store.command(sql.load("drift/change_reference"), params)
