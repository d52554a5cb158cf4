"""Impossible times, ids and texts among good spans: all good ones are stored, and the rest is counted exactly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import scripted_agents as agents
from stores import receive
from tests.faults.harness import hostile_values as hostile
from tests.faults.harness.served import Served

from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store

AHEAD = """
INSERT INTO overclaim_watermark
SELECT Job, Arrived + INTERVAL 1 HOUR, Version + 1 FROM overclaim_watermark FINAL
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own."""
    with Served(tmp_path_factory.mktemp("clock"), "--no-detect") as running:
        yield running


def test_times_that_no_clock_gives_are_stored(served: Served) -> None:
    """1970, 2262, ten years off, backwards, none at all; the year 2300 cannot be kept, and its sender is told."""
    found = hostile.mixed(served, hostile.times(), hostile.bad()[-1:])
    assert (found.status, found.stored, found.refused) == (200, found.good, 1)


def test_bad_spans_do_not_poison_their_request(served: Served) -> None:
    """NaN, NUL, keys twice, 10 MB, deep values, 150 months at once are stored, and ids that are none are refused."""
    found = hostile.mixed(served, [*hostile.many_days(), *hostile.texts()], hostile.bad())
    assert (found.status, found.stored, found.refused) == (200, found.good, len(hostile.bad()))


def test_names_from_data_stay_data(served: Served) -> None:
    """Keys, names and services that look like paths or Python's own names are stored like others."""
    assert hostile.mixed(served, hostile.names(), []).exact


def test_half_a_surrogate_pair_and_no_text_at_all(served: Served) -> None:
    """Half a pair, as JSON can carry, is stored without it; bytes that are no text are the sender's mistake."""
    assert hostile.surrogates(served) == 1
    assert hostile.not_text(served) == 400


def test_after_the_clock_was_set_back_spans_are_judged_all_the_same(store: Store) -> None:
    """The last pass was an hour ahead of the clock of today: what arrives now is not overlooked."""
    receive(store, agents.foreign(70))
    assert detect_once(store).judged == 1
    store.command(AHEAD)
    receive(store, agents.foreign(71))
    detect_once(store)
    judged = store.query("SELECT TraceId FROM overclaim_run_verdicts ORDER BY TraceId").rows
    assert judged == [(f"{trace:032x}",) for trace in (70, 71)]
