from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from drifting import HOUR, MONDAY, Made, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import empty

from overclaim_detectors.drift.rollup import Rollup
from overclaim_detectors.store import Store

BEHAVIOUR = """
SELECT toUnixTimestamp(Tick), Agent, Model, Tool, Signal, Runs, Bad FROM overclaim_behaviour FINAL
"""
Counted = Counter[tuple[Any, ...]]


def counted(made: Iterable[Made]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """What behaviour comes to, counted run by run."""
    runs, bad = Counted(), Counted()
    for one in made:
        for tool, signal, happened in signals(one):
            place = (one.at // 900 * 900, one.agent, one.model, tool, signal)
            runs[place] += 1
            bad[place] += happened
    return {place: (runs[place], bad[place]) for place in runs}


def signals(one: Made) -> Iterable[tuple[str, str, bool]]:
    """The signals of one run: tool, name, and whether it happened."""
    yield "", "runs", not one.complete
    if not one.complete:
        return
    yield "", "claims_success", one.claimed == "success"
    if one.claimed == "success":
        yield "", "overclaim", one.label == "contradicted"
        yield "", "unsupported", False
    yield "", "verified", one.looked
    for tool in ("", one.tool):
        yield tool, "failure", one.failed
        yield tool, "silent_failure", one.failed and one.label != "contradicted"
    if one.looked:
        yield "get_refund", "failure", False
        yield "get_refund", "silent_failure", False


def made(dice: random.Random) -> list[Made]:
    """Some runs of two agents and models in a few hours of two days."""
    return [
        Made(
            number, MONDAY + dice.choice((0, 1, 30)) * HOUR + dice.randrange(2 * HOUR),
            agent=dice.choice(("clerk", "buyer")), model=dice.choice(("m-1", "m-2")),
            claimed=dice.choice(("success", "success", "failure")), label=dice.choice(("supported", "contradicted")),
            failed=dice.random() < 0.4, looked=dice.random() < 0.6, complete=dice.random() < 0.9,
        )
        for number in range(dice.randint(5, 40))
    ]  # fmt: skip


def judged_again(one: Made, dice: random.Random) -> Made:
    """The run as a later pass sees it, somewhat otherwise; it may have begun earlier in its hour, with a late span."""
    begin = one.at // HOUR * HOUR
    return replace(one, at=dice.randint(begin, one.at), label="contradicted", failed=True, complete=True, looked=True)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_the_rollup_is_what_a_count_of_all_runs_gives(store: Store, seed: int) -> None:
    """In any order, with runs that come twice, change, or are taken back, and counts that fall anywhere in between."""
    empty(store)
    dice, version = random.Random(seed), 0
    stand: dict[int, Made] = {}
    rollup = Rollup(store)
    todo = [one for one in made(dice) for _ in range(dice.choice((1, 2)))]
    dice.shuffle(todo)
    while todo:
        piece, todo = todo[:9], todo[9:]
        version += 1
        gone = [stand.pop(number) for number in dice.sample(sorted(stand), min(len(stand), dice.choice((0, 0, 2))))]
        gone = [one for one in gone if one.number not in {new.number for new in piece}]
        changed = [judged_again(one, dice) for one in dice.sample(list(stand.values()), min(len(stand), 2))]
        piece = list({one.number: one for one in [*changed, *piece]}.values())
        put(store, piece, version, gone)
        stand |= {one.number: one for one in piece}
        if dice.random() < 0.6:
            rollup.refresh()
        if dice.random() < 0.2:
            rollup = Rollup(store)
    rollup.refresh()
    rows = store.query(BEHAVIOUR).rows
    assert {tuple(row[:5]): (row[5], row[6]) for row in rows} == counted(stand.values())
    Rollup(store).refresh()  # of a process that has seen nothing yet
    assert sorted(store.query(BEHAVIOUR).rows) == sorted(rows)
