from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from drifting import HOUR, MONDAY, Made, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import empty

from overclaim_detectors.drift.rollup import Rollup
from overclaim_detectors.store import Store

BEHAVIOUR = """
SELECT toUnixTimestamp(Tick), Agent, Model, Tool, Signal, Runs, Bad, Values, Categories
FROM overclaim_behaviour FINAL
"""
Counted = Counter[tuple[Any, ...]]
Sums = tuple[int, int, dict[int, int], dict[str, int]]


def counted(made: Iterable[Made]) -> dict[tuple[Any, ...], Sums]:
    """What behaviour comes to, counted run by run: runs, bad runs, runs by bin and by category."""
    runs, bad = Counted(), Counted()
    bins, names = defaultdict[Any, Counter[int]](Counter), defaultdict[Any, Counter[str]](Counter)
    for one in made:
        told = [*((tool, signal, said, None, ()) for tool, signal, said in signals(one)), *more_signals(one)]
        for tool, signal, happened, value, categories in told:
            place = (one.at // 900 * 900, one.agent, one.model, tool, signal)
            runs[place] += 1
            bad[place] += happened
            bins[place].update([] if value is None else [math.floor(8 * math.log2(value)) if value else -1000])
            names[place].update(categories)
    return {place: (runs[place], bad[place], dict(bins[place]), dict(names[place])) for place in runs}


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


def more_signals(one: Made) -> Iterable[tuple[str, str, bool, float | None, Sequence[str]]]:
    """The signals of one run that are measured or have categories, with the value and the categories."""
    if not one.complete:
        return
    used = [one.tool, *["get_refund"] * one.looked, *one.also]
    yield "", "steps", False, len(used), ()
    yield "", "retries", False, 0, ()
    yield "", "tool_mix", False, None, sorted({*used})
    if one.claimed != "success":
        yield "", "ending", False, None, [one.claimed]
    for tool in ("", one.tool) if one.failed else ():
        yield tool, "error_type", False, None, [f"http_status {one.status}"]
    if one.took:
        yield "", "run_time", False, one.took, ()
        for tool in {*used}:
            yield tool, "latency", False, one.took, ()


def made(dice: random.Random) -> list[Made]:
    """Some runs of two agents and models in a few hours of two days."""
    return [
        Made(
            number, MONDAY + dice.choice((0, 1, 30)) * HOUR + dice.randrange(2 * HOUR),
            agent=dice.choice(("clerk", "buyer")), model=dice.choice(("m-1", "m-2")),
            claimed=dice.choice(("success", "success", "failure")), label=dice.choice(("supported", "contradicted")),
            failed=dice.random() < 0.4, looked=dice.random() < 0.6, complete=dice.random() < 0.9,
            took=dice.choice((0, 3, 70, 4000)), status=dice.choice(("404", "500")),
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
    assert {tuple(row[:5]): (*row[5:7], *map(dict, row[7:])) for row in rows} == counted(stand.values())
    Rollup(store).refresh()  # of a process that has seen nothing yet
    assert sorted(store.query(BEHAVIOUR).rows, key=str) == sorted(rows, key=str)
