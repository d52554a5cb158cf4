from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.bench.drift import peer_worker, peers
from tests.bench.drift.__main__ import CHANGES, QUIET, delays, false_alarms, fresh_store, table
from tests.bench.drift.known import Pair, Row, answers
from tests.bench.drift.streams import Kind
from tests.bench.drift.twin import log_gamma


def test_a_quiet_stream_stays_within_its_budget() -> None:
    """Clusters of runs need the guards: with a fixed seed fewer alarms come than are allowed."""
    assert false_alarms(QUIET["clusters of 5 runs, 200 a day"], 6) <= 1.2


def test_a_grave_change_is_found_within_hours() -> None:
    """From 5 to 20 % at 200 runs a day: always, half of the times within 12 hours."""
    found = delays(CHANGES["5 -> 20 %, 200 runs a day"], 8)
    assert all(math.isfinite(hours) for hours in found)
    assert float(np.median(found)) <= 12


def test_the_quick_table_has_its_rows() -> None:
    """Two quiet kinds and one change, with a figure each."""
    lines = list(table(2, quick=True))
    assert len(lines) == 8
    assert all(line.count("|") in (0, 3, 4) for line in lines)


def test_peers_stand_beside_those_that_need_no_thought(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who always alarms is wrong each day and finds all at once, who never does is neither; what failed says why."""
    monkeypatch.setattr(peers, "STREAMS", 1)
    monkeypatch.setattr(peers, "QUIET", {"quiet": Kind(days=4)})
    monkeypatch.setattr(peers, "CHANGES", {"change": Kind(after=0.9, days=4)})
    monkeypatch.setattr(peers, "PEERS", [peers.Peer("gone", ("no requirement at all",), "gone")])
    _, _, ours, always, never, gone = peers.table(tmp_path)
    assert (always, never) == ("| always | 100.0 | 100 %, 1 |", "| never | 0.0 | 0 %, - |")
    assert ours.startswith("| overclaim | 0.0 | 100 %, ")
    assert gone.startswith("| gone | not run: ")


def test_recorded_runs_are_compared_with_those_before() -> None:
    """Runs that fail as often as before are quiet; where all fail, and take twice the steps, both are told."""
    before = [run(number, bad=number % 5 == 0, steps=8) for number in range(150)]
    same = [run(200 + number, bad=number % 5 == 0, steps=8) for number in range(150)]
    worse = [run(400 + number, bad=True, steps=16) for number in range(150)]
    with fresh_store() as store:
        found = answers(store, [Pair("same", before, same), Pair("worse", before, worse)], 100)
    assert [one.alarms for one in found] == [(), ("failure", "steps")]
    assert (found[1].was, found[1].now) == (0.2, 1.0)


def run(number: int, *, bad: bool, steps: int) -> Row:
    """A recorded run."""
    return {"id": f"run {number}", "failed": bad, "values": {"steps": steps}}


def test_a_stream_becomes_single_runs_in_their_order() -> None:
    """What a peer is shown has as many runs and bad ones as the stream, the reference before hour 0."""
    stream = {"runs": [3, 0, 2, 1, *[0] * 92, 4], "bad": [1, 0, 2, 0, *[0] * 92, 1], "reference_days": 1}
    shown = peer_worker.outcomes(stream)
    assert [hour for hour, _ in shown] == [-24] * 6 + [0] * 4
    assert [sum(bad for hour, bad in shown if hour == at) for at in (-24, 0)] == [3, 1]


@pytest.mark.parametrize("x", [0.5, 1.0, 3.7, 20.0, 1234.5])
def test_the_twin_has_the_gamma_function_of_python(x: float) -> None:
    """To 1e-11, relatively."""
    assert float(log_gamma(np.array([x]))[0]) == pytest.approx(math.lgamma(x), rel=1e-11, abs=1e-11)
