from __future__ import annotations

import argparse
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from drifting import DAY, HOUR, MONDAY, OPENS, Made, fleet, put
from tests.support.migrated import made_store

from overclaim._errors import InputError
from overclaim_detectors import drift_command, sql
from overclaim_detectors.drift import job as job_module
from overclaim_detectors.drift import states
from overclaim_detectors.drift.job import DriftJob, DriftPass
from overclaim_detectors.drift.signals import SIGNALS
from overclaim_detectors.drift.states import Drift
from overclaim_detectors.opening import open_store
from overclaim_detectors.report import Window, left_out, run_report
from overclaim_detectors.runner import Progress, follow
from overclaim_detectors.store import Store

END = MONDAY + 12 * DAY
CHANGE = MONDAY + 10 * DAY + 6 * HOUR
WINDOW = Window(datetime.fromtimestamp(MONDAY, UTC), datetime.fromtimestamp(END, UTC))
STATES = "SELECT * FROM overclaim_detector_states FINAL"
WINDOWS = """
SELECT Stream, FromTick, UntilTick, Runs FROM overclaim_references FINAL
WHERE Direction = 1 AND Signal = 'overclaim' ORDER BY Stream
"""
KEPT = {
    "behaviour": "SELECT * EXCEPT Version FROM overclaim_behaviour FINAL ORDER BY ALL",
    "references": "SELECT * EXCEPT Version FROM overclaim_references FINAL ORDER BY ALL",
    "drifts": "SELECT * EXCEPT (Version, LogE, AlarmAt) FROM overclaim_drifts FINAL ORDER BY ALL",
    "actions": "SELECT What, DriftId FROM overclaim_actions ORDER BY ALL",
}


def once(store: Store, at: float = END) -> DriftPass:
    """A pass of a process that has just started."""
    return DriftJob(store, clock=lambda: at).once()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a store whose agent got another model, and overclaims more since then."""
    directory = made_store(tmp_path_factory.mktemp("drifting"))
    with closing(open_store(f"chdb://{directory}")) as store:
        put(store, fleet(12, 150, 3, change_day=10.25))
        once(store)
    return directory


@pytest.fixture
def drifted(made: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of it."""
    with closing(open_store(f"chdb://{copytree(made, tmp_path / 'drifted', symlinks=True)}")) as store:
        yield store


def overclaiming(store: Store) -> Drift:
    """The drift of the overclaim rate."""
    (found,) = (one for one in states.current(store) if one.key.signal == "overclaim")
    return found


def kept(store: Store) -> dict[str, Sequence[Any]]:
    """All that the drift job keeps, but for when it was written."""
    return {name: store.query(query).rows for name, query in KEPT.items()}


def test_a_change_of_model_is_told_in_one_sentence(drifted: Store) -> None:
    """Was and now with their counts, since when, how many runs more, and the model that came with it; three traces."""
    rows = {(row["Signal"], row["Who"]): row for row in run_report(drifted, "drift", WINDOW).dicts()}
    row = rows["overclaim", "clerk"]
    since, counts = row["Sentence"].partition(" since ")[2], row["Sentence"]
    assert row["Sentence"].startswith(f"clerk: overclaim rate {row['Was']} % -> {row['Now']} % since 2026-01-15 0")
    assert since.startswith("2026-01-15 06:00 UTC (")
    bad, runs, *_ = (int(word) for word in counts.partition("(")[2].split() if word.isdigit())
    assert (runs, row["Now"]) == (300, round(100 * bad / runs, 1))
    assert "Started with model m-2 (first seen 06:00)." in row["Sentence"]
    assert abs(row["ByBehaviour"] - (row["Now"] - row["Was"])) < 0.11
    traces = row["TraceIds"].split()
    known = {one.trace: one for one in fleet(12, 150, 3, change_day=10.25)}
    assert len(traces) == 3
    assert all(known[trace].label == "contradicted" and known[trace].at >= CHANGE for trace in traces)


def test_a_drift_begins_where_the_rate_rose(store: Store) -> None:
    """However the days since the change differ, it is dated to the first hour with runs after it, not to the worst."""
    put(store, fleet(16, 86, 2, change_day=13.0, bad=(0.04, 0.45)))
    once(store, MONDAY + 16 * DAY)
    one = overclaiming(store)
    assert (one.change, one.now_runs) == (MONDAY + 13 * DAY + OPENS, 258)


def test_what_is_part_of_another_drift_is_not_told_twice(drifted: Store) -> None:
    """The failures of the agent are those of its one tool, so the tool is named, and the agent's stand below it."""
    shown, every = (run_report(drifted, "drift", replace(WINDOW, all=every)).dicts() for every in (False, True))
    assert [row["Who"] for row in shown if row["Signal"] == "failure"] == ["create_refund"]
    tool, agent = (next(row for row in every if row["Signal"] == "failure" and row["Who"] == who) for who in
                   ("create_refund", "clerk"))  # fmt: skip
    assert (tool["Part"], agent["Part"]) == ("", tool["DriftId"])
    assert "1 drift too small to matter, or part of another" in left_out(drifted, "drift", WINDOW)


def test_a_pass_again_or_after_a_restart_changes_nothing(drifted: Store) -> None:
    """Twice in a row, by a new process, by two at once, and with the clock set back, all rows stay as they are."""
    before = kept(drifted)
    assert before["drifts"]
    running = DriftJob(drifted, clock=lambda: END)
    for at in (END, END, END - 3 * HOUR):
        once(drifted, at)
        running.once()
        assert kept(drifted) == before
    other = threading.Thread(target=once, args=(drifted,))
    other.start()
    once(drifted)
    other.join()
    assert kept(drifted) == before


def test_a_quiet_fleet_is_called_quiet(store: Store) -> None:
    """Nothing is told of runs that behave as before; how much would be seen is, and what is too new to be judged."""
    put(store, fleet(14, 60, 8))
    put(store, [Made(9000 + n, MONDAY + 13 * DAY + n * HOUR, agent="newcomer", tool="late") for n in range(9)])
    once(store, MONDAY + 14 * DAY)
    now = Window(WINDOW.since, datetime.fromtimestamp(MONDAY + 14 * DAY, UTC))
    assert run_report(store, "drift", now).rows == []
    words = left_out(store, "drift", now)
    assert words.startswith("Quiet: 21 streams of behaviour. Within a week they show changes from ")
    assert "Not judged yet: " in words
    assert "newcomer (claims_success): 9 of 100 runs, 1 of 7 days" in words


def test_a_release_is_compared_with_the_time_before_it(drifted: Store) -> None:
    """Beside the first week there is what came before the new model; with that the watch begins when it came."""
    rows = drifted.query(
        "SELECT Reason, Marker, toUnixTimestamp(FromTick), toUnixTimestamp(UntilTick), toUnixTimestamp(Since), Runs"
        " FROM overclaim_references FINAL WHERE Signal = 'overclaim' AND Direction = 1 ORDER BY Reason"
    ).rows
    opens = MONDAY + OPENS
    assert rows == [
        ("first", "", opens, opens + 7 * DAY, opens + 7 * DAY, 1050),
        ("release", "model m-2", opens, CHANGE, CHANGE, 1500),
    ]


def test_what_could_be_watched_is_written_down(drifted: Store) -> None:
    """Each signal of the service, whether it could be watched, in how many runs, and how small a change is seen."""
    found = {row["Detector"]: row for row in drifted.query(STATES).dicts()}
    without = {"run_time", "latency", "tokens", "ending"}  # no run has a time or tokens, and all claim success
    assert set(found) == SIGNALS.keys() - without
    assert (found["overclaim"]["State"], found["overclaim"]["Runs"], found["overclaim"]["Seen"]) == ("ran", 1800, 1800)
    assert 0.001 < found["overclaim"]["SmallestChange"] < 0.1
    put(drifted, [Made(80_000, END - 2 * HOUR, agent="newcomer")])
    once(drifted)
    (why,) = {row["Why"] for row in drifted.query(STATES).dicts() if row["Detector"] == "overclaim"}
    assert why == "1 of 2 agents and tools have too few runs or days for a reference"


def test_accepting_makes_it_the_normal(drifted: Store) -> None:
    """What it changed to is the reference from then on; who, why and what are kept, and no new alarm comes."""
    one = overclaiming(drifted)
    done = states.accept(drifted, one.id[:6], "sam", "the new model is worth it", END)
    assert (done.state, states.find(drifted, one.id).reason) == ("accepted", "the new model is worth it")
    rows = drifted.query(
        "SELECT Reason, toUnixTimestamp(FromTick), Bad, notEmpty(A) FROM overclaim_references FINAL"
        " WHERE Signal = 'overclaim'"
    ).rows
    assert {row[:2] for row in rows} == {("accepted", CHANGE)}
    assert all(bad > 20 and measured for _, _, bad, measured in rows)
    assert drifted.query("SELECT Who, What, DriftId FROM overclaim_actions").rows == [("sam", "accept", one.id)]
    put(drifted, [replace(late, number=late.number + 50_000, at=late.at + 2 * DAY) for late in
                  fleet(12, 150, 3, change_day=10.25) if late.at > CHANGE])  # fmt: skip
    once(drifted, END + 2 * DAY)
    assert not [other for other in states.current(drifted) if other.key.signal == "overclaim"]


def test_closing_begins_anew_with_the_old_reference(drifted: Store) -> None:
    """A closed drift is gone; when it goes on, another one is opened, from runs after it was closed."""
    one = overclaiming(drifted)
    states.close(drifted, one.id, "sam", "known", END)
    once(drifted, END + 900)
    assert not [other for other in states.current(drifted) if other.key.signal == "overclaim"]
    late = [late for late in fleet(12, 150, 3, change_day=10.25) if late.at > CHANGE]
    put(drifted, [replace(one, number=one.number + 50_000, at=one.at + 2 * DAY) for one in late])
    once(drifted, END + 2 * DAY)
    again = overclaiming(drifted)
    assert again.id != one.id
    assert again.change >= END
    assert again.ref_runs == one.ref_runs


def test_a_decision_holds_for_what_the_drift_is_most_of(drifted: Store) -> None:
    """With the failures of the tool those of its agent are closed, which would else be told instead."""
    tool = next(one for one in states.current(drifted) if one.key.level == "tool" and one.key.signal == "failure")
    states.close(drifted, tool.id, "sam", "known", END)
    once(drifted, END + 900)
    assert {one.key.signal for one in states.current(drifted)} == {"overclaim"}


def test_what_is_over_closes_by_itself(drifted: Store) -> None:
    """A week after the old behaviour came back the drift is closed, and the row of actions says that nobody did it."""
    one = overclaiming(drifted)
    calm = fleet(8, 150, 4)
    put(drifted, [replace(run, number=run.number + 50_000, at=run.at + 12 * DAY, model="m-2") for run in calm])
    for day in (13, 20):
        once(drifted, MONDAY + day * DAY)
    assert (states.find(drifted, one.id).state, states.find(drifted, one.id).reason) == ("closed", states.CALM_AGAIN)
    assert ("overclaim", "close", one.id) in drifted.query("SELECT Who, What, DriftId FROM overclaim_actions").rows


def test_what_nobody_runs_any_more_closes(drifted: Store) -> None:
    """Where no runs came for four weeks the drift is closed, and says why; a week without any changes nothing."""
    one = overclaiming(drifted)
    once(drifted, END + 7 * DAY)
    assert states.find(drifted, one.id).state == "open"
    once(drifted, END + 30 * DAY)
    assert (states.find(drifted, one.id).state, states.find(drifted, one.id).reason) == ("closed", states.NO_RUNS)
    assert states.current(drifted) == []


@pytest.mark.parametrize(("id_", "message"), [("", "no drift"), ("zz", "no drift"), (None, "closed already")])
def test_what_cannot_be_decided_is_said(drifted: Store, id_: str | None, message: str) -> None:
    """An unknown id, an empty one, and a drift that is closed already are named."""
    one = overclaiming(drifted)
    states.close(drifted, one.id, "sam", "known", END)
    with pytest.raises(InputError, match=message):
        states.close(drifted, one.id if id_ is None else id_, "sam", "again", END)


def test_too_few_runs_are_no_reference(drifted: Store) -> None:
    """A drift is not accepted before there are enough runs to be a reference."""
    one = overclaiming(drifted)
    drifted.insert("overclaim_drifts", states.COLUMNS, [replace(one, now_runs=20).row(END * 2000)])
    with pytest.raises(InputError, match="20 runs since the change are too few"):
        states.accept(drifted, one.id, "sam", "why not", END)


def test_late_rows_in_a_reference_are_counted(drifted: Store) -> None:
    """Runs that were judged late change the reference that covers their time, without moving it."""
    before = drifted.query(WINDOWS).rows
    put(drifted, [Made(70_000 + n, MONDAY + 2 * DAY + n) for n in range(10)], END * 1000 + 1)
    once(drifted)
    assert drifted.query(WINDOWS).rows == [(*row[:3], row[3] + 10) for row in before]


def run(*words: str) -> int:
    """The command with these words."""
    parser = argparse.ArgumentParser()
    drift_command.COMMAND.configure(parser)
    return drift_command.COMMAND.run(parser.parse_args(words))


def test_the_command_lists_shows_and_decides(drifted: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """List names the open ones, show tells causes and traces, accept wants a reason, a decision is seen at once."""
    one = overclaiming(drifted)
    drifted.close()
    run("list", "--store", drifted.url)
    listed = capsys.readouterr().out.splitlines()
    assert f"{one.id}  open  {one.sentence}" in listed
    assert len(listed) == 2
    run("show", one.id[:8], "--store", drifted.url)
    shown = capsys.readouterr().out
    assert "  model m-2: " in shown
    assert shown.count("overclaim show ") == 3
    for words, message in ((("accept", one.id), "--why"), (("show",), "needs the id")):
        with pytest.raises(InputError, match=message):
            run(*words, "--store", drifted.url)
    run("close", one.id, "--why", "known", "--who", "sam", "--store", drifted.url)
    run("list", "--store", drifted.url)
    assert one.id not in capsys.readouterr().out.partition("is closed\n")[2]
    run("list", "--all", "--store", drifted.url)
    assert f"{one.id}  closed  " in capsys.readouterr().out


def test_a_store_without_drift_says_where_to_look(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """The list of an empty store is a sentence, not nothing."""
    store.close()
    run("list", "--store", store.url)
    assert "no drift is open" in capsys.readouterr().out


def test_drift_never_stops_judging(store: Store, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """A pass for drift that fails is logged, and the next passes of the detector come as if nothing had happened."""
    for name in ("FIRST_S", "EVERY_S"):
        monkeypatch.setattr(job_module, name, 0.0)
    broken = [0]

    def fail(name: str) -> str:
        if name.startswith("drift/"):
            broken[0] += 1
            raise ValueError("broken")
        return real(name)

    real, progress, stop = sql.load, Progress(), threading.Event()
    monkeypatch.setattr(sql, "load", fail)
    with caplog.at_level(logging.WARNING, "overclaim.detect"):
        worker = threading.Thread(target=follow, args=(store, 0.01, stop), kwargs={"progress": progress})
        worker.start()
        while progress.passes < 3 and worker.is_alive():
            stop.wait(0.02)
        stop.set()
        worker.join()
    assert broken[0] >= 2
    assert progress.error == ""
    assert "drift could not be looked for: broken" in caplog.text
