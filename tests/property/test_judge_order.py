from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import scripted_agents as agents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import CAME, ENTERED, FINDINGS, FIRST, READ, VERDICTS, empty, receive

from overclaim_detectors import disk, inbox, judging, label, logs
from overclaim_detectors.inbox import Inbox
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.runner import Detection, detect_once
from overclaim_detectors.store import Store

Outcome = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]
# Where a pass may end: before arrivals are entered, before traces are, before runs are written, and later.
PLACES = (
    (Inbox, "_entered"),
    (disk, "cut_off"),
    (label, "enter_traces"),
    (logs, "read"),
    (judging, "judge"),
    (judging, "find"),
    (Inbox, "done"),
)


@pytest.fixture(scope="module")
def recorded() -> list[agents.Row]:
    """The spans of the scripted agents and of two foreign ones."""
    with agents.recording() as rows:
        for agent in agents.ALL:
            agent()
        return [*rows(), *agents.foreign(901), *agents.foreign(902)]


def outcome(store: Store) -> Outcome:
    """All verdicts and all open findings; there are some, and traces are entered as their spans are."""
    assert store.query(FINDINGS).rows
    assert store.query(ENTERED).rows == store.query(READ).rows
    assert store.query(FIRST).rows == store.query(CAME).rows
    return store.query(VERDICTS).rows, store.query(FINDINGS).rows


def pieces(spans: Sequence[agents.Row], dice: random.Random) -> Iterator[list[agents.Row]]:
    """The spans in any order, some twice or three times, in pieces of any size."""
    mixed = [span for span in spans for _ in range(dice.choice((1, 1, 2, 3)))]
    dice.shuffle(mixed)
    while mixed:
        size = dice.randint(1, 12)
        yield mixed[:size]
        mixed = mixed[size:]


@pytest.fixture(scope="module")
def expected(store_path: Path, recorded: list[agents.Row]) -> Outcome:
    """What comes of the spans when they arrive once, in order, and are judged in one pass."""
    store = open_store(f"chdb://{store_path}")
    try:
        migrate(store)
        empty(store)
        receive(store, recorded)
        detect_once(store)
        return outcome(store)
    finally:
        store.close()


class Killed(Exception):
    """The end of the process."""


def crash(detection: Detection, place: tuple[object, str]) -> None:
    """A pass that ends in the middle of its work, or before it could be written down that the work was done."""

    def die(*_: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr(*place, die)
        detection.once()


def reopened(store: Store) -> Store:
    """The store of a new process: closed and opened again."""
    store.close()
    return open_store(store.url)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_any_order_and_any_duplication_give_the_same(
    store: Store, recorded: list[agents.Row], expected: Outcome, seed: int
) -> None:
    """However spans arrive, and wherever passes fall in between, verdicts and open findings end up the same."""
    empty(store)
    dice, detection = random.Random(seed), Detection(store)
    for piece in pieces(recorded, dice):
        receive(store, piece)
        if dice.random() < 0.3:
            detection.once()
    detection.once()
    assert outcome(store) == expected


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_restarts_and_crashes_change_nothing(
    store_path: Path, recorded: list[agents.Row], expected: Outcome, seed: int
) -> None:
    """Detectors that are stopped, killed in the middle of a pass, and started again come to the same in the end.

    Without the look behind the watermark, which would hide a watermark that moves too early.
    """
    store = open_store(f"chdb://{store_path}")
    patch = pytest.MonkeyPatch()
    patch.setattr(inbox, "OVERLAP_MS", 0)
    try:
        migrate(store)
        empty(store)
        dice, detection = random.Random(seed), Detection(store)
        for place, piece in enumerate(pieces(recorded, dice)):
            receive(store, piece)
            if (what := dice.choice(("pass", "crash", "nothing"))) == "crash":
                crash(detection, dice.choice(PLACES))
            elif what == "pass":
                detection.once()
            if place == 3:
                store = reopened(store)
            if place == 3 or dice.random() < 0.4:
                detection = Detection(store)
        Detection(store).once()
        assert outcome(store) == expected
    finally:
        patch.undo()
        store.close()
