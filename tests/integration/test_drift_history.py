from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from drifting import DAY, HOUR, MONDAY, Made, put
from stores import empty

from overclaim_detectors.drift import rollup as rollup_module
from overclaim_detectors.drift.job import DriftJob
from overclaim_detectors.drift.rollup import Rollup
from overclaim_detectors.store import Store

BEHAVIOUR = "SELECT * EXCEPT Version FROM overclaim_behaviour FINAL ORDER BY ALL"


def history() -> Iterator[Made]:
    """Runs of 80 hours, some days apart."""
    dice = random.Random(4)
    for number in range(400):
        hour = dice.randrange(80)
        at = MONDAY + hour * HOUR + hour // 20 * 9 * DAY + dice.randrange(HOUR)
        yield Made(number, at, failed=dice.random() < 0.2)


@pytest.fixture
def counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The pieces that are counted; the store has a history that none counted yet."""
    pieces, count = list[list[int]](), Rollup._count

    def noted(self: Rollup, hours: list[int], version: int) -> None:
        pieces.append(hours)
        count(self, hours, version)

    empty(store)
    put(store, history())
    monkeypatch.setattr(Rollup, "_count", noted)
    return pieces


def test_a_history_in_pieces_is_the_same_as_in_one_go(store: Store, counted: list[list[int]]) -> None:
    """A new process for each piece counts no hour twice, oldest first, and the rows are those of one count."""
    passes = [Rollup(store).refresh(0)]
    while passes[-1].rest:
        passes.append(Rollup(store).refresh(0))
    in_pieces = store.query(BEHAVIOUR).rows
    hours = [hour for piece in counted for hour in piece]
    assert (len(counted), len(passes), hours) == (4, 4, sorted({*hours}))
    assert passes[-1].hours == hours
    empty(store)
    put(store, history())
    assert Rollup(store).refresh().hours == hours
    assert store.query(BEHAVIOUR).rows == in_pieces


def test_a_crash_costs_one_piece(store: Store, counted: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a piece was counted and its note was not written, that one is counted again, and nothing else."""
    note = Rollup._note

    def broken(self: Rollup, job: str, until: int, version: int) -> None:
        if job == rollup_module.PIECE and len(counted) == 3:
            raise OSError("the machine stopped")
        note(self, job, until, version)

    monkeypatch.setattr(Rollup, "_note", broken)
    with pytest.raises(OSError, match="stopped"):
        Rollup(store).refresh()
    monkeypatch.setattr(Rollup, "_note", note)
    done = Rollup(store).refresh()
    assert [piece[0] for piece in counted] == sorted([piece[0] for piece in counted])
    assert counted[2] == counted[3]
    assert done.hours == sorted({hour for piece in counted for hour in piece})
    assert Rollup(store).refresh(0).rest is False


def test_what_is_judged_meanwhile_is_counted_too(store: Store, counted: list[list[int]]) -> None:
    """A run that comes into an hour that was counted already, before the rest was, is not forgotten."""
    rollup = Rollup(store)
    assert rollup.refresh(0).rest
    put(store, [Made(9999, counted[0][0] + 60)], version=MONDAY * 2000)
    while rollup.refresh(0).rest:
        pass
    (sums,) = store.query("SELECT sum(Runs) FROM overclaim_behaviour FINAL WHERE Signal = 'runs'").rows
    assert sums == (401,)


def test_many_rows_make_small_pieces(store: Store, counted: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours with many runs are counted few at a time, however near each other they are."""
    monkeypatch.setattr(rollup_module, "ROWS_TOGETHER", 60)
    Rollup(store).refresh()
    rows = len(list(history())) * 2
    assert len(counted) >= rows / 60
    assert max(len(piece) for piece in counted) < 24


def test_drift_waits_until_the_history_is_counted(
    store: Store, counted: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass that leaves a rest looks at no stream; the last one takes the references."""
    end = MONDAY + 40 * DAY
    job = DriftJob(store, clock=lambda: end)
    passes = [job.once(0)]
    assert store.query("SELECT count() FROM overclaim_references").rows == [(0,)]
    while passes[-1].rest:
        passes.append(job.once(0))
    assert [one.rest for one in passes] == [True, True, True, False]
    assert passes[-1].streams > 0
