"""The rules about the fleet, through the real SQL: their cases, and that neither order nor restarts matter to them."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rule_cases import CaseRun, fleet_runs
from stores import empty, put_labelled
from tests.support.migrated import made_store

from overclaim_detectors import sql
from overclaim_detectors.detecting import detect
from overclaim_detectors.fleet import FleetJob, FleetPass
from overclaim_detectors.opening import open_store
from overclaim_detectors.registry import BUILTIN, Registry
from overclaim_detectors.report import Window, run_report
from overclaim_detectors.rule import Case, Rule, Stretch, call
from overclaim_detectors.runner import follow
from overclaim_detectors.store import Store

# Not long ago, since what is a year old goes from the store; at one o'clock, so that every day sees the same.
NOW = int(time.time()) // 86_400 * 86_400 - 2 * 86_400 + 13 * 3600
LATER = NOW + 1800  # when all quarters before NOW have settled
FLEET = [rule for rule in BUILTIN if rule.scope == "fleet"]
OPEN = "SELECT Environment, Rule, Severity FROM overclaim_fleet_findings FINAL WHERE Open"
STANDS = """
SELECT Rule, Tool, FindingId, Agent, Value, Title, Traces, At FROM overclaim_fleet_findings FINAL WHERE Open ORDER BY 1
"""
SEEN = "SELECT * EXCEPT Version FROM overclaim_seen FINAL ORDER BY ALL"
HOURS = "SELECT DISTINCT toStartOfHour(Started) FROM overclaim_runs"
WIDE: dict[str, object] = {"earliest": 0, "latest": 4_000_000_000_000_000_000}
ODD = (
    "'x' AS Subject, 'urgent' AS Severity, '' AS ServiceName, '' AS Environment, '' AS Agent, '' AS Tool, '' AS Value,"
    " [''] AS Traces, 0 AS At"
)
ONE = Case("one", (call(0, "search", "success", effect="read"),))
BOTH = Case("both", (call(0, "search", "success", effect="read"), call(1, "notify", "success")))
NEW = Case("new", (call(0, "search", "success", effect="read"), call(1, "erase", "success")))


def put_drifts(store: Store, case: Case, number: int) -> None:
    """Put the drifts of a case in, in an environment of its own."""
    for place, row in enumerate(case.drifts):
        whole = {
            "ChangeAt": NOW - 3600,
            **row,
            "DriftId": f"{number}-{place}",
            "Environment": f"case {number}",
            "Version": 1,
        }
        store.insert("overclaim_drifts", list(whole), [list(whole.values())])


def test_rules_fire_on_their_cases_and_on_no_others(store: Store) -> None:
    """Each rule about the fleet fires on the cases it must fire on, with a severity that it lists, and on no other."""
    expected: dict[str, tuple[Rule, Case]] = {}
    for rule in FLEET:
        for case in (*rule.fires, *rule.quiet):
            number = len(expected)
            if runs := list(fleet_runs(case, number, NOW)):
                put_labelled(store, runs)
            put_drifts(store, case, number)
            expected[f"case {number}"] = (rule, case)
    done = FleetJob(store, clock=lambda: LATER).once()
    rows = store.query(OPEN).rows
    assert done.failed == {}
    assert done.open == done.opened == len(rows)
    fired = {(environment, rule) for environment, rule, _ in rows}
    wrong = [
        f"{rule.id} {'is quiet' if case in rule.fires else 'fires'} on: {case.name}"
        for environment, (rule, case) in expected.items()
        if ((environment, rule.id) in fired) is not (case in rule.fires)
    ]
    assert wrong == []
    listed = {rule.id: rule.severities for rule in FLEET}
    assert [row for row in rows if row[2] not in listed[row[1]]] == []


@pytest.mark.parametrize("rule", ["exception.raised", "http.status_4xx", "flag.error_field"])
def test_words_of_a_run_stay_out_of_findings(store: Store, rule: str) -> None:
    """A failure that tells of a person is a new kind of error by the rule that read it: findings leave this place."""
    failed = Case("", (call(0, "order", "failure", value="Anna has no card on file", rule=rule),))
    usual = Stretch(Case("", (call(0, "order", "success"),)), -240, -1, 4)
    put_labelled(store, list(fleet_runs(Case("", over_time=(usual, Stretch(failed, -3, -3))), 0, NOW)))
    FleetJob(store, clock=lambda: LATER).once()
    (stands,) = [row for row in found(store) if row[0] == "OC306"]
    assert rule in str(stands)
    assert "Anna" not in str(stands) + str(store.query(SEEN).rows)


def history(number: int = 0) -> list[CaseRun]:
    """A tool that goes silent, and another that is new, in the runs of twenty days."""
    stretches = (Stretch(BOTH, -480, -60, 3), Stretch(ONE, -57, -3, 3), Stretch(NEW, -27, -27))
    return list(fleet_runs(Case("", over_time=stretches), number, NOW))


def found(store: Store) -> Sequence[Any]:
    """What stands about the fleet."""
    return store.query(STANDS).rows


def test_neither_order_nor_repeats_nor_restarts_matter(store: Store) -> None:
    """Runs that come at once, or shuffled, twice, in pieces, with a new process for each, come to the same."""
    runs = history()
    put_labelled(store, runs)
    FleetJob(store, clock=lambda: LATER).once()
    counted, stands = store.query(SEEN).rows, found(store)
    assert [(rule, tool) for rule, tool, *_ in stands] == [("OC304", "notify"), ("OC305", "erase")]
    empty(store)
    dice = random.Random(7)
    twice = dice.sample([*runs, *dice.sample(runs, 40)], len(runs) + 40)
    for version, start in enumerate(range(0, len(twice), 50), 1):
        put_labelled(store, twice[start : start + 50], version)
        FleetJob(store, clock=lambda: LATER).once()
    assert store.query(SEEN).rows == counted
    assert found(store) == stands


def test_what_no_longer_holds_is_closed_and_opened_again(store: Store) -> None:
    """A silence ends with the next run, a first sight with the run that showed it; the ids stay."""
    runs = history()
    put_labelled(store, runs)
    job = FleetJob(store, clock=lambda: LATER)
    job.once()
    before = {row[0]: row[2] for row in found(store)}
    late = list(fleet_runs(Case("", over_time=(Stretch(BOTH, -4, -4),)), 0, NOW))
    late = [
        (replace(run, trace_id="f" * 32), [replace(one, trace_id="f" * 32) for one in spans]) for run, spans in late
    ]
    batch = put_labelled(store, late, 2)
    new = next(run for run, _ in runs if any(call.tool == "erase" for call in run.calls))
    done = job.once()
    assert (done.closed, {row[0] for row in found(store)}) == (1, before.keys() - {"OC304"})
    for table in ("runs", "calls"):
        store.command(sql.load(f"label/retire_{table}"), WIDE | {"traces": [new.trace_id], "version": 3})
    job.once()
    assert found(store) == []
    store.command(sql.load("label/retire_runs"), WIDE | {"traces": list(batch.traces), "version": 3})
    job.once()
    assert {row[0]: row[2] for row in found(store)} == {"OC304": before["OC304"]}


def test_nothing_is_asked_where_nothing_is_new(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a pass over what came, one more looks at what has settled by then; from then on, none does anything."""
    put_labelled(store, history()[-20:])
    job = FleetJob(store, clock=lambda: LATER)
    assert [job.once().hours for _ in range(3)] == [len({row[0] for row in store.query(HOURS).rows}), 0, 0]
    asked: list[str] = []
    monkeypatch.setattr("overclaim_detectors.fleet.current", lambda _: asked.append("x") or ({}, 0))
    job.once()
    assert asked == []
    put_drifts(store, Case("", drifts=({"State": "open", "Shown": 1, "Severity": "low", "Level": "tool"},)), 1)
    job.once()
    assert asked == ["x"]


def test_a_rule_that_fails_stops_no_other(store: Store) -> None:
    """Broken SQL and missing columns are told by rule; what they found before stands, and the others run."""
    put_labelled(store, history())
    job = FleetJob(store, clock=lambda: LATER)
    job.once()
    before = found(store)
    broken = [replace(rule, query="", text="SELECT nothing FROM nowhere") for rule in FLEET if rule.id == "OC304"]
    shallow = Rule("XX001", "shallow", "", text="SELECT 1 AS Subject", scope="fleet")
    odd = Rule("XX002", "odd", "", text=f"SELECT {ODD} FROM numbers(1)", scope="fleet")  # noqa: S608 - a test's own
    done = FleetJob(store, Registry((*broken, shallow, odd)), clock=lambda: LATER).once()
    assert set(done.failed) == {"OC304", "XX001", "XX002"}
    assert "no column" in done.failed["XX001"]
    assert "urgent" in done.failed["XX002"]
    assert found(store) == before


def test_a_long_history_is_counted_in_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass counts for a while only, and asks no rule before all is counted; the next ones go on."""
    monkeypatch.setattr("overclaim_detectors.fleet.COUNTING_S", 0.0)
    put_labelled(store, history())
    job = FleetJob(store, clock=lambda: LATER)
    passes = [job.once()]
    assert (passes[0].whole, passes[0].open, found(store)) == (False, 0, [])
    while not passes[-1].whole:
        passes.append(job.once())
    assert len(passes) > 2
    assert passes[-1].open == len(found(store)) > 0
    FleetJob(store, clock=lambda: LATER).once()
    assert len(found(store)) == passes[-1].open


def test_they_are_shown(store: Store) -> None:
    """The report has a row for each with who, since when and the run that shows it; what is over, only if asked for."""
    put_labelled(store, history())
    FleetJob(store, clock=lambda: LATER).once()
    window = Window(datetime.fromtimestamp(NOW - 10 * 86_400, UTC), datetime.fromtimestamp(LATER, UTC))
    rows = {row["Rule"]: row for row in run_report(store, "fleet", window).dicts()}
    last = datetime.fromtimestamp(NOW - 60 * 3600, UTC)
    told = f"What ran steadily has gone silent: tool notify, last seen {last:%Y-%m-%d %H:%M} UTC"
    assert rows["OC304"]["Title"] == told
    assert (rows["OC305"]["Who"], rows["OC305"]["State"]) == ("erase", "")
    assert len(rows["OC305"]["TraceIds"]) == 32
    store.command(
        "INSERT INTO overclaim_fleet_findings SELECT * REPLACE (0 AS Open, Version + 1 AS Version)"
        " FROM overclaim_fleet_findings FINAL"
    )
    assert run_report(store, "fleet", window).rows == []
    assert len(run_report(store, "fleet", replace(window, all=True)).rows) == len(rows)


def test_detect_tells_how_many_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One pass of the command looks at the fleet, too, and says where to see what it found."""
    url = f"chdb://{made_store(tmp_path / 'store')}"
    with closing(open_store(url)) as opened:
        put_labelled(opened, history())
    assert detect(url) == 0
    told = re.search(
        r"^open findings about the fleet: (\d+) \(see `overclaim report fleet`\)$", capsys.readouterr().out, re.M
    )
    with closing(open_store(url)) as opened:
        stands = [row[0] for row in found(opened)]
    assert told
    assert {"OC304", "OC305"} <= set(stands)
    assert int(told[1]) == len(stands)


def test_a_followed_store_is_looked_at(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop asks after each pass, which looks when it is time to; an error of it is logged, and the loop goes on."""
    stop, asked = threading.Event(), list[FleetJob]()

    def when_due(job: FleetJob) -> None:
        asked.append(job)
        if len(asked) == 2:
            stop.set()

    with monkeypatch.context() as patch:
        patch.setattr(FleetJob, "when_due", when_due)
        follow(store, 0.01, stop)
    assert asked[0] is asked[1]
    monkeypatch.setattr("overclaim_detectors.fleet.FIRST_S", 0.0)
    job = FleetJob(store)
    assert job.when_due() == FleetPass()
    assert job.when_due() is None


def test_an_error_waits_for_the_next_time(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the store fails, it is logged, and nothing is asked again before a quarter of an hour is over."""
    monkeypatch.setattr("overclaim_detectors.fleet.FIRST_S", 0.0)
    job = FleetJob(store)
    monkeypatch.setattr(FleetJob, "once", lambda _: 1 / 0)
    assert job.when_due() is None
    assert "the rules about the fleet could not be asked" in caplog.text
    monkeypatch.undo()
    assert job.when_due() is None
