from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import agents
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import FINDINGS, VERDICTS, empty, receive

from overclaim_detectors.runner import Detection, detect_once
from overclaim_detectors.store import Store


@pytest.fixture(scope="module")
def recorded() -> list[agents.Row]:
    """The spans of the scripted agents and of two foreign ones."""
    with agents.recording() as rows:
        for agent in agents.ALL:
            agent()
        return [*rows(), *agents.foreign(901), *agents.foreign(902)]


def outcome(store: Store) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """All verdicts and all open findings."""
    return store.query(VERDICTS).rows, store.query(FINDINGS).rows


def pieces(spans: Sequence[agents.Row], dice: random.Random) -> Iterator[list[agents.Row]]:
    """The spans in any order, some twice or three times, in pieces of any size."""
    mixed = [span for span in spans for _ in range(dice.choice((1, 1, 2, 3)))]
    dice.shuffle(mixed)
    while mixed:
        size = dice.randint(1, 8)
        yield mixed[:size]
        mixed = mixed[size:]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_any_order_and_any_duplication_give_the_same(store: Store, recorded: list[agents.Row], seed: int) -> None:
    """However spans arrive, and wherever passes fall in between, verdicts and open findings end up the same."""
    empty(store)
    receive(store, recorded)
    detect_once(store)
    expected = outcome(store)
    assert expected[1]

    empty(store)
    dice, detection = random.Random(seed), Detection(store)
    for piece in pieces(recorded, dice):
        receive(store, piece)
        if dice.random() < 0.3:
            detection.once()
    detection.once()
    assert outcome(store) == expected
