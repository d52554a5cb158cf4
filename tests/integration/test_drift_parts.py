from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import pytest
from drifting import DAY, MONDAY, Made, fleet, put
from tests.support.migrated import made_store

from overclaim_detectors.drift import states
from overclaim_detectors.drift.job import DriftJob
from overclaim_detectors.drift.states import Drift
from overclaim_detectors.opening import open_store

END = MONDAY + 12 * DAY
CHANGE = MONDAY + 10 * DAY + 6 * 3600


def changed() -> Iterator[Made]:
    """Runs that from a time on search more often, in more steps, take longer, and fail with another status."""
    dice = random.Random(5)
    for one in fleet(12, 150, 3, bad=(0.15, 0.15)):
        late = one.at >= CHANGE
        searches = ("search",) * (3 + dice.randrange(3)) if dice.random() < (0.3 if late else 0.1) else ()
        took = round(1000 * dice.lognormvariate(1.0 if late else 0.2, 0.4))
        status = dice.choice(("500", "503")) if late else "500"
        late_failure = late and dice.random() < 0.15
        yield replace(one, also=searches, took=took, status=status, failed=one.failed or late_failure)


@dataclass(frozen=True, slots=True)
class Found:
    """The runs, and the drifts of them by signal and tool."""

    made: list[Made]
    drifts: dict[tuple[str, str], Drift]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What a pass finds in these runs."""
    made = list(changed())
    with closing(open_store(f"chdb://{made_store(tmp_path_factory.mktemp('parts'))}")) as store:
        put(store, made)
        DriftJob(store, clock=lambda: END).once()
        return Found(made, {(one.key.signal, one.key.tool): one for one in states.current(store)})


def test_longer_runs_are_told_by_a_quantile(found: Found) -> None:
    """The quantile that moved most clearly, then and now in seconds; the slowest runs of a quarter are examples."""
    one = found.drifts["run_time", ""]
    assert one.sentence.startswith("clerk: p90 of time of a run 2.1 s -> 4.7 s since 2026-01-15 06:00 UTC (")
    assert f"({one.now_bad} of 300 runs took more than 2.1 s; normal was {one.ref_bad} of 1050)" in one.sentence
    slow = [run for run in found.made if run.at >= CHANGE and run.took > 2100]
    assert (len(one.traces), set(one.traces) <= {run.trace for run in slow}) == (3, True)
    assert abs(one.now_bad - len(slow)) <= 25  # the edge is that of a bin, up to 9 % further


def test_more_steps_are_told_as_a_number(found: Found) -> None:
    """Steps are whole numbers, before and after; counts are exact for as few as these."""
    one = found.drifts["steps", ""]
    assert one.sentence.startswith("clerk: p90 of steps 5 -> 7 since 2026-01-15 0")
    many = [run for run in found.made if run.at >= one.change and 1 + run.looked + len(run.also) > 5]
    assert f"({len(many)} of {one.now_runs} runs took more than 5 steps;" in one.sentence


def test_a_tool_that_is_called_more_often_is_named(found: Found) -> None:
    """The tool, in which part of the runs, then and now; the examples called it since."""
    one = found.drifts["tool_mix", ""]
    searching = {run.trace for run in found.made if run.at >= CHANGE and run.also}
    was, now = 100 * one.ref_bad / one.ref_runs, 100 * one.now_bad / one.now_runs
    assert one.sentence.startswith(f"clerk: `search` {was:.1f} % -> {now:.1f} % of runs since 2026-01-15 06:00 UTC (")
    assert f"({len(searching)} of 300 runs called `search`; normal was {one.ref_bad} of 1050)" in one.sentence
    assert (len(one.traces), set(one.traces) <= searching) == (3, True)


def test_an_error_that_is_new_is_named(found: Found) -> None:
    """An error that the reference does not have is found among all others, of the failed runs; examples have it."""
    one = found.drifts["error_type", "create_refund"]
    failing = {run.trace for run in found.made if run.failed and run.status == "503"}
    assert (one.ref_bad, one.now_bad, one.severity) == (0, len(failing), "medium")
    assert "`http_status 503` or another that was rare 0.0 % -> " in one.sentence
    assert (len(one.traces), set(one.traces) <= failing) == (3, True)


def test_only_what_changed_is_told(found: Found) -> None:
    """Signals that stayed as they were are quiet, beside those that moved."""
    told = {signal for signal, _ in found.drifts}
    assert told == {"run_time", "latency", "steps", "tool_mix", "error_type", "silent_failure"}
    assert [one.direction for one in found.drifts.values()] == [1] * len(found.drifts)
