"""The rules about the fleet: what a service, an agent or a tool does over time, rather than one run.

What was seen is counted by hours whenever runs in them were labelled anew, and the rules read those counts: all that
holds is found again at each pass, and what is not found again is closed. So rows that come late, twice or not at all,
and a restart in the middle, need no care.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from overclaim_detectors import sql
from overclaim_detectors.registry import Registry, registry
from overclaim_detectors.rule import FLEET_COLUMNS, SEVERITIES, Rule
from overclaim_detectors.seen import Seen
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")
FIRST_S: Final = 90.0  # after the first pass of the drift job, whose drifts one of the rules reads
EVERY_S: Final = 900.0
COUNTING_S: Final = 20.0  # for how long a pass counts, where there is much to count
QUARTER: Final = 900
SETTLING: Final = 900  # seconds after a quarter of an hour until its runs count: some arrive later than others
_COLUMNS = (
    "FindingId", "Rule", "Severity", "Title", "ServiceName", "Environment", "Agent", "Tool", "Value", "Traces", "At",
    "Open", "Version",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FleetFinding:
    """Something about the fleet to act on. at: when it began, Unix nanoseconds. open: whether it still holds."""

    id: str
    rule: str
    severity: str
    title: str
    service: str
    environment: str
    agent: str
    tool: str
    value: str
    traces: tuple[str, ...]
    at: int
    open: bool = True

    def row(self, version: int) -> Sequence[Any]:
        """Its row in overclaim_fleet_findings."""
        return (
            self.id, self.rule, self.severity, self.title, self.service, self.environment, self.agent, self.tool,
            self.value, list(self.traces), self.at, int(self.open), version,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FleetPass:
    """What a pass came to: hours counted anew, findings that are new and closed, and open; rules that could not run.

    whole: whether all was counted; where not, no rule was asked, and the next pass goes on.
    """

    hours: int = 0
    opened: int = 0
    closed: int = 0
    open: int = 0
    failed: Mapping[str, str] = field(default_factory=dict[str, str])
    whole: bool = True


class FleetJob:
    """Asks the rules about the fleet of one store. What it needs stands in the store: it can be stopped at any moment.

    rules: those of other scopes are left alone. clock: the time in Unix seconds.
    """

    def __init__(self, store: Store, rules: Registry | None = None, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._rules = [rule for rule in (rules or registry()).rules if rule.scope == "fleet"]
        self._clock = clock
        self._seen = Seen(store)
        self._settled: int | None = None  # the newest change to a drift, where nothing else was new
        self._drifts: int | None = None  # the newest change to a drift that a pass has seen
        self._due = self._glance = time.monotonic() + FIRST_S

    def when_due(self) -> FleetPass | None:
        """A pass, if the last one was a quarter of an hour ago, or a drift has changed since.

        An error is logged, and judging goes on.
        """
        done = None
        try:
            if time.monotonic() < self._due and not self._drifts_changed():
                return None
            done = self.once()
        except Exception as error:  # verdicts are worth more
            _log.warning("the rules about the fleet could not be asked: %s", error)
        self._due = time.monotonic() + (FIRST_S if done and not done.whole else EVERY_S)
        return done

    def once(self) -> FleetPass:
        """Look at everything that was judged by now. Does nothing where nothing is new since the last pass.

        Raises:
            StoreError: the store failed; the work is repeated at the next pass.
        """
        counted = self._seen.refresh(COUNTING_S)
        drifts = self._drifts = self._newest_drift()
        if not counted.whole or (not counted.hours and drifts == self._settled):
            return FleetPass(counted.hours, whole=counted.whole)
        self._settled = None  # where the look fails, the next pass looks again
        done = self._look(counted.hours)
        # What has just arrived may not count yet: it does at the next pass, whether more arrives or not.
        self._settled = None if counted.hours else drifts
        return done

    def _drifts_changed(self) -> bool:
        """Whether people or a pass have decided something about drifts since the last pass; looks once a minute."""
        if time.monotonic() < self._glance:
            return False
        self._glance = time.monotonic() + FIRST_S
        return self._drifts is not None and self._drifts != self._newest_drift()

    def _newest_drift(self) -> int:
        return int(self._store.query(sql.load("fleet/drifts_changed")).rows[0][0])

    def _look(self, hours: int) -> FleetPass:
        now = int(self._clock())
        held, newest = current(self._store)
        found, failed = dict[str, FleetFinding](), dict[str, str]()
        for rule in self._rules:
            try:
                found |= self._ask(rule, now // QUARTER * QUARTER - SETTLING)
            except Exception as error:  # a rule may be anybody's code
                _log.warning("rule %s could not run: %s", rule.id, error)
                failed[rule.id] = str(error)
        ran = {rule.id for rule in self._rules} - failed.keys()
        gone = [
            replace(one, open=False) for one in held.values() if one.open and one.rule in ran and one.id not in found
        ]
        changed = [one for one in found.values() if held.get(one.id) != one]
        version = max(now * 1000, newest + 1)
        if changed or gone:
            self._store.insert("overclaim_fleet_findings", _COLUMNS, [one.row(version) for one in [*changed, *gone]])
        opened = sum(one.id not in held or not held[one.id].open for one in changed)
        still = sum(one.open and one.rule in failed for one in held.values())
        return FleetPass(hours, opened, len(gone), len(found) + still, failed)

    def _ask(self, rule: Rule, until: int) -> dict[str, FleetFinding]:
        text = rule.sql()
        params = {"until": until, **rule.params}
        bound = {name: value for name, value in params.items() if name in sql.placeholders(text)}
        made = (_finding(rule, row) for row in self._store.query(text, bound).dicts())
        return {one.id: one for one in made}


def current(store: Store) -> tuple[dict[str, FleetFinding], int]:
    """All that was ever found about the fleet, by id, and the newest version of a row.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = store.query(sql.load("fleet/current")).dicts()
    held = {row["FindingId"]: _held(row) for row in rows}
    return held, max((int(row["Version"]) for row in rows), default=0)


def _held(row: Mapping[str, Any]) -> FleetFinding:
    return FleetFinding(
        row["FindingId"], row["Rule"], row["Severity"], row["Title"], row["ServiceName"], row["Environment"],
        row["Agent"], row["Tool"], row["Value"], tuple(row["Traces"]), row["Began"], bool(row["Open"]),
    )  # fmt: skip


def _finding(rule: Rule, row: Mapping[str, Any]) -> FleetFinding:
    if missing := set(FLEET_COLUMNS) - set(row):
        raise ValueError(f"its SQL returns no column {', '.join(sorted(missing))}")
    if row["Severity"] not in SEVERITIES:
        raise ValueError(f"severity {row['Severity']!r} is none of {', '.join(SEVERITIES)}")
    title = f"{rule.title}: {row['Detail']}" if row.get("Detail") else rule.title
    id_ = hashlib.sha256(f"{rule.id}|{row['Subject']}".encode()).hexdigest()[:32]
    return FleetFinding(
        id_, rule.id, row["Severity"], title, row["ServiceName"], row["Environment"], row["Agent"], row["Tool"],
        row["Value"], tuple(row["Traces"]), int(row["At"]), True,
    )  # fmt: skip
