"""`overclaim detect`: passes over an own store, or waiting for the server that owns it to have made its own."""

from __future__ import annotations

import logging
import sys
import time
from datetime import UTC, datetime

from overclaim._errors import InputError, StoreError
from overclaim.expectations import Expectations, chosen
from overclaim_detectors import sql
from overclaim_detectors._remote import RemoteStore
from overclaim_detectors.again import judge_again
from overclaim_detectors.drift.job import DriftJob
from overclaim_detectors.fleet import FleetJob
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import DEFAULT_URL, open_store
from overclaim_detectors.outgoing.delivery import Sent, delivery
from overclaim_detectors.outgoing.options import Outgoing, checked
from overclaim_detectors.procedures import store_procedures
from overclaim_detectors.report import moment
from overclaim_detectors.runner import Pass, detect_once, follow
from overclaim_detectors.store import OwnedElsewhere, Store

CATCH_UP_SECONDS = 30.0
FLUSH_SECONDS = 30.0
NOWHERE = Outgoing()


def detect(
    url: str = DEFAULT_URL,
    *,
    follow: bool = False,
    interval: float = 2.0,
    fail: bool = False,
    expect: str | None = None,
    again: bool = False,
    since: str | None = None,
    outgoing: Outgoing = NOWHERE,
) -> int:
    """Detect once or until interrupted, and say what came of it; the exit code.

    expect: a file of expectations or the name of a pack; else what OVERCLAIM_EXPECTATIONS names. again: judge anew what
    was labelled before, from `since` on, an age or a time. outgoing: where findings are sent to.

    Raises:
        InputError: the expectations or receivers cannot be used, or a server judges this store by its own.
        StoreError: the store cannot be used.
    """
    expected = chosen(expect)
    checked(outgoing)
    store = _open(url)
    try:
        if isinstance(store, RemoteStore):
            _refuse(expect, store, again, outgoing)
            _await_server(store)
        elif follow:
            _follow(store, interval, expected, outgoing)
        else:
            _work_once(store, expected, outgoing, moment(since, datetime.now(UTC)) if since else None, again=again)
        return _conclude(store, fail)
    finally:
        store.close()


def _work_once(
    store: Store, expected: Expectations | None, outgoing: Outgoing, since: datetime | None, *, again: bool
) -> None:
    with delivery(store, outgoing) as out:
        done = _again(store, since, expected) if again else detect_once(store, expected)
        _say(done)
        if not again:
            _look_for_drift(store)
            _look_at_the_fleet(store)
        out.passed(done.judged)
        for sent in out.flush(FLUSH_SECONDS):
            _say_sent(sent)


def _say_sent(sent: Sent) -> None:
    if sent.error:
        print(
            f"not all findings went to {sent.label}: {sent.error}; the next time they are sent again", file=sys.stderr
        )
    print(f"findings sent to {sent.label}: {sent.count}")


def _open(url: str) -> Store:
    # Opened for reading first: that names a store that is not there, instead of making an empty one.
    probe = open_store(url, read_only=True)
    if probe.url.startswith("http"):
        return probe
    probe.close()
    try:
        store = open_store(url)
    except OwnedElsewhere as owned:
        if not owned.url:
            raise
        return open_store(owned.url)
    migrate(store)
    return store


def _again(store: Store, since: datetime | None, expected: Expectations | None) -> Pass:
    if expected is not None:
        store_procedures(store, expected.all_procedures)
    return judge_again(store, since)


def _refuse(expect: str | None, store: RemoteStore, again: bool, outgoing: Outgoing) -> None:
    if outgoing.wanted:
        cure = "restart it with `overclaim serve --events` or `--webhook`, or stop it and repeat"
        raise InputError(f"the server at {store.url} judges, and it alone sends what it finds: {cure}")
    if again:
        cure = "stop it, repeat this, and start it again: two that judge the same traces may undo each other's work"
        raise InputError(f"--again: the server at {store.url} judges this store: {cure}")
    if expect is not None:
        cure = "restart it with `overclaim serve --expect`, or stop it and repeat"
        raise InputError(f"--expect {expect}: the server at {store.url} judges by what it was started with: {cure}")


def _follow(store: Store, interval: float, expected: Expectations | None, outgoing: Outgoing) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    with delivery(store, outgoing) as out:

        def each(done: Pass) -> None:
            _say(done)
            out.passed(done.judged)

        out.start()
        try:
            follow(store, interval, each=each, expected=expected)
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)


def _await_server(store: RemoteStore) -> None:
    """The server's own detectors do the work; wait until they have come to all that has arrived by now.

    Raises:
        StoreError: they are off or failing, or take too long.
    """
    interval = _pause(store)
    if not (lag := _lag(store)):
        print(f"the server at {store.url} judges by itself, and has judged all that arrived")
        return
    print(f"the server at {store.url} judges by itself, every {interval:g} s; waiting for it: {_arrivals(lag)}")
    end = time.monotonic() + CATCH_UP_SECONDS + interval
    while lag := _lag(store):
        _pause(store)
        if time.monotonic() > end:
            raise StoreError(f"the server at {store.url} has not caught up yet ({_arrivals(lag)}): try again later")
        time.sleep(0.5)


def _arrivals(lag: int) -> str:
    return f"{lag} arrivals of spans not judged yet"


def _pause(store: RemoteStore) -> float:
    """The time between passes of the server, in seconds, if it makes any."""
    said = store.detector()
    if said.get("state") == "off":
        raise StoreError(f"the server at {store.url} runs with --no-detect: restart it without, or stop it and repeat")
    if said.get("state") in ("failing", "dead"):
        raise StoreError(f"the server at {store.url} cannot judge: {said.get('error')}; see its log")
    return float(said.get("interval", 0))


def _say(done: Pass) -> None:
    print(f"traces labelled: {done.labelled}, runs judged: {done.judged}, findings that stand in them: {done.findings}")
    for trace in done.skipped:
        print(f"  left out: trace {trace} cannot be understood or is too large", file=sys.stderr)
    for rule, reason in done.failed.items():
        print(f"  rule {rule} could not run: {reason}", file=sys.stderr)


def _look_for_drift(store: Store) -> None:
    """Drift beside the verdicts; where that fails, they stand."""
    try:
        done = DriftJob(store).once()
    except Exception as error:  # verdicts are worth more than drift
        print(f"drift could not be looked for: {error}", file=sys.stderr)
        return
    if done.open:
        print(f"open drifts: {done.open} (see `overclaim report drift`)")


def _look_at_the_fleet(store: Store) -> None:
    """The rules about the fleet, after drift, which one of them reads; where that fails, verdicts stand."""
    try:
        job = FleetJob(store)
        while not (done := job.once()).whole:
            pass
    except Exception as error:  # verdicts are worth more
        print(f"the rules about the fleet could not be asked: {error}", file=sys.stderr)
        return
    for rule, reason in done.failed.items():
        print(f"  rule {rule} could not run: {reason}", file=sys.stderr)
    if done.open:
        print(f"open findings about the fleet: {done.open} (see `overclaim report fleet`)")


def _conclude(store: Store, fail: bool) -> int:
    counts = store.query(sql.load("report/accusations")).dicts()[0]
    accusations, violations = counts["Accusations"], counts["Violations"]
    where = "claims of all time; `overclaim report claims` has the last 7 days, with a row for those on one ground"
    print(f"open accusations: {accusations}" + (f" ({where})" if accusations else ""))
    if violations:
        print(f"procedures broken: {violations} (see `overclaim report procedures`)")
    return 1 if fail and (accusations or violations) else 0


def _lag(store: Store) -> int:
    return int(store.query(sql.load("doctor/lag")).dicts()[0]["Arrivals"])
