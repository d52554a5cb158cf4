from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from drifting import DAY, HOUR, MONDAY
from tests.support.migrated import made_store

from overclaim_detectors import sql
from overclaim_detectors.drift.budget import Budget, difference, smallest_change, thresholds
from overclaim_detectors.drift.detector import Evidence, evaluate, replay
from overclaim_detectors.drift.reference import Policy, Reference, Settling, references
from overclaim_detectors.drift.signals import SIGNALS, Key
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "statistics.json").read_text("utf-8"))
STREAMS: dict[str, Any] = GOLDEN["streams"]
COLUMNS = ("Tick", "ServiceName", "Agent", "Model", "Signal", "Runs", "Bad", "Version")
WITH_PARTS = ("Tick", "ServiceName", "Agent", "Signal", "Runs", "Values", "Categories", "Version")
PRIOR = """
SELECT A, B, Deff, Tau, Runs, PartBad, Parts FROM overclaim_references FINAL WHERE Stream = {stream:String} LIMIT 1
"""
SAME_PRIOR = """
INSERT INTO overclaim_references
SELECT * REPLACE ({a:Array(Float64)} AS A, {b:Array(Float64)} AS B, {deff:Float64} AS Deff, Version + 1 AS Version)
FROM overclaim_references FINAL WHERE Stream = {stream:String}
"""
END = MONDAY + 40 * DAY


def fill(store: Store, service: str, runs: Sequence[int], bad: Sequence[int], *, cut: bool = False) -> None:
    """Put a stream in by the hour.

    cut: have the runs of each hour in several quarters and by two models, rather than in one row.
    """
    rows = list[tuple[object, ...]]()
    for hour, (n, k) in enumerate(zip(runs, bad, strict=True)):
        parts = [(n - k, 0), (0, 0), (k, k)] if cut else [(n, k)]
        rows += [
            (MONDAY + hour * HOUR + place * 900, service, "clerk", f"m-{place % 2}", "overclaim", more, worse, 1)
            for place, (more, worse) in enumerate(parts)
            if more
        ]
    store.insert("overclaim_behaviour", COLUMNS, rows)


def fill_parts(store: Store, service: str, one: dict[str, Any]) -> None:
    """Put in what was measured in the runs of each hour, or the categories that they had."""
    signal, rows = "steps" if "values" in one else "tool_mix", list[tuple[object, ...]]()
    for hour, runs in enumerate(one["runs"]):
        values = one["values"][hour] if "values" in one else ()
        bins = Counter(math.floor(8 * math.log2(value)) for value in values)
        names = one["names"][hour] if "names" in one else {}
        rows.append((MONDAY + hour * HOUR, service, "clerk", signal, runs, dict(bins), names, 1))
    store.insert("overclaim_behaviour", WITH_PARTS, [row for row in rows if row[4]])


def take(store: Store, days: int) -> None:
    """Take the first days of each new stream for its reference."""
    Settling(store, Policy(least_days=days, least_runs=10)).settle([], [], 0, END, 1)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with all golden streams, each a service of its own."""
    with closing(open_store(f"chdb://{made_store(tmp_path_factory.mktemp('golden'))}")) as store:
        for days in sorted({one["reference_days"] for one in STREAMS.values()}):
            for name, one in STREAMS.items():
                if one["reference_days"] != days:
                    continue
                if "bad" in one:
                    fill(store, name, one["runs"], one["bad"])
                else:
                    fill_parts(store, name, one)
            take(store, days)
        yield store


def known(store: Store) -> dict[str, Reference]:
    """The references, by service."""
    return {one.key.service: one for one in references(store).values()}


def evaluated(store: Store, service: str, end: int) -> list[Evidence]:
    """The evidence of one stream in both directions."""
    one = known(store)[service]
    return evaluate(store, [one.stream], {one.stream: one}, {(one.stream, 1): 9.0, (one.stream, -1): 9.0}, end)


def end_of(name: str) -> int:
    """The end of a golden stream."""
    return MONDAY + len(STREAMS[name]["runs"]) * HOUR


@pytest.mark.parametrize("name", STREAMS)
def test_priors_are_those_of_scipy(golden: Store, name: str) -> None:
    """Design effect, wandering, blocks and priors agree to 1e-9."""
    a, b, deff, tau, runs, bad, parts = golden.query(PRIOR, {"stream": known(golden)[name].stream}).rows[0]
    prior = STREAMS[name]["prior"]
    assert (runs, bad, parts) == (prior["runs"], prior["bad"], prior["parts"])
    assert [deff, tau, *a, *b] == pytest.approx([prior["deff"], prior["tau"], *prior["a"], *prior["b"]], rel=1e-9)


@pytest.mark.parametrize("name", STREAMS)
def test_evidence_is_that_of_scipy(golden: Store, name: str) -> None:
    """Evidence and hour of the change agree to 1e-9; each hour without runs is a candidate as well."""
    for one in evaluated(golden, name, end_of(name)):
        said = STREAMS[name]["evidence"][str(one.direction)]
        assert one.log_e == pytest.approx(said["log_e"], rel=1e-9, abs=1e-9)
        assert (one.change, one.reference.part) == (MONDAY + said["change"] * HOUR, said["part"])


def test_the_golden_streams_have_what_they_are_for() -> None:
    """One has clusters, one wanders, one has a daily cycle, one weekends, one empty hours, one too few bad runs."""
    priors = {name: one["prior"] for name, one in STREAMS.items()}
    assert priors["clusters"]["deff"] > 2
    assert priors["wander"]["tau"] > 0
    assert [len(priors[name]["a"]) for name in ("plain", "cycle", "weekend")] == [1, 8, 16]
    assert 0 in STREAMS["sparse"]["runs"]
    assert (priors["few"]["bad"][0] < 10, priors["few"]["tau"]) == (True, 0)
    assert len(priors["steps by the hour"]["a"]) == 4 * 8
    assert len(priors["tools"]["parts"]) == 13


@pytest.mark.parametrize("name", ["sparse", "cycle", "fewer steps", "tools"])
def test_a_replay_ends_where_the_evidence_is_now(golden: Store, name: str) -> None:
    """At any quarter with runs the replay says what the evidence said then, to 1e-9."""
    for upto in (end_of(name), end_of(name) - 30 * HOUR):
        last = {one.direction: one for one in replay(golden, [known(golden)[name].stream], upto)}
        for one in evaluated(golden, name, max(moment.at for moment in last.values()) + 900):
            assert one.change == last[one.direction].change
            assert one.log_e == pytest.approx(last[one.direction].log_e, rel=1e-9)


def test_evidence_is_the_same_however_an_hour_is_cut(golden: Store) -> None:
    """Quarters and models in rows of their own give the evidence of the whole hour, with the same prior."""
    whole = STREAMS["plain"]
    fill(golden, "cut", whole["runs"], whole["bad"], cut=True)
    take(golden, 7)
    same = {name: whole["prior"][name] for name in ("a", "b", "deff")}
    golden.command(SAME_PRIOR, {"stream": known(golden)["cut"].stream, **same})
    for one in evaluated(golden, "cut", end_of("plain")):
        assert one.log_e == pytest.approx(whole["evidence"][str(one.direction)]["log_e"], rel=1e-9)


def test_streams_without_a_difference_speak_for_nothing(golden: Store) -> None:
    """A rate of 0 or 100 %, for ever, gives finite evidence that is far from an alarm."""
    for bad in (0, 5):
        fill(golden, f"constant {bad}", [5] * 288, [bad] * 288)
    take(golden, 7)
    for bad in (0, 5):
        for one in evaluated(golden, f"constant {bad}", MONDAY + 12 * DAY):
            assert math.isfinite(one.log_e)
            assert one.log_e < math.log(24 * 7)


def test_more_bad_runs_are_more_evidence(golden: Store) -> None:
    """With each bad run more the evidence of a rise grows, and that of a fall shrinks."""
    found: dict[int, list[float]] = {1: [], -1: []}
    for bad in (0, 3, 9):
        fill(golden, f"last {bad}", [10] * 192, [*([1, 0] * 84), *([0] * 23), bad])
    take(golden, 7)
    for bad in (0, 3, 9):
        for one in evaluated(golden, f"last {bad}", MONDAY + 8 * DAY):
            found[one.direction].append(one.log_e)
    assert found[1] == sorted(found[1])
    assert found[-1] == sorted(found[-1], reverse=True)


@pytest.mark.parametrize("seed", range(3))
def test_the_split_of_a_change_sums_up_to_it(golden: Store, seed: int) -> None:
    """By each dimension, with values that are new and values that went: rate effect and mix effect are the change."""
    dice, service = random.Random(seed), f"split {seed}"
    rows, sums = list[tuple[object, ...]](), [[0, 0], [0, 0]]
    for model, later in product(("m-1", "m-2", "m-3"), (0, 1)):
        if (model, later) in (("m-1", 1), ("m-3", 0)):
            continue
        runs = dice.randint(5, 200)
        bad = dice.randint(0, runs)
        sums[later] = [sums[later][0] + runs, sums[later][1] + bad]
        rows.append((MONDAY + later * DAY, service, "clerk", model, "failure", runs, bad, 1))
    golden.insert("overclaim_behaviour", COLUMNS, rows)
    params = {"service": service, "environment": "", "agent": "clerk", "tool": "", "signal": "failure", "direction": 1}
    params |= {"kind": "rate", "part": "", "edge": 0, "stream": ""}
    times = {"ref_from": MONDAY, "ref_until": MONDAY + DAY, "now_from": MONDAY + DAY, "now_until": MONDAY + 2 * DAY}
    found = golden.query(sql.load("drift/attribution"), {**params, **times}).dicts()
    assert {row["Value"] for row in found} == {"m-1", "m-2", "m-3"}
    total = sums[1][1] / sums[1][0] - sums[0][1] / sums[0][0]
    assert sum(row["RateEffect"] + row["MixEffect"] for row in found) == pytest.approx(total, abs=1e-12)
    assert found[0]["AllRate"] + found[0]["AllMix"] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["newcombe"])
def test_intervals_are_those_of_scipy(case: list[float]) -> None:
    """Newcombe's interval of a difference agrees with the one made of scipy's Wilson intervals."""
    bad_then, runs_then, bad_now, runs_now, *expected = case
    found = difference((int(bad_then), int(bad_now)), (int(runs_then), int(runs_now)))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("case", GOLDEN["smallest"])
def test_the_smallest_change_is_where_the_evidence_suffices(case: list[float]) -> None:
    """By the divergence that scipy has, solved for the rate; where no rate suffices there is none."""
    rate, runs, log_a, direction, expected = case
    assert smallest_change(rate, runs, log_a, int(direction)) == pytest.approx(expected, abs=1e-9)
    assert math.isnan(smallest_change(0.5, 2, log_a, 1))


def test_the_parts_of_the_budget_sum_to_one() -> None:
    """However many streams, levels and references there are, together they may give what the budget allows."""
    keys = [
        Key("s", "", agent, tool, signal, "tool" if tool else "agent")
        for signal in SIGNALS
        for agent in ("a", "b")
        for tool in ("", "t", "u")
    ]
    streams = {f"{place}": key for place, key in enumerate([*keys, *keys[:7]])}
    for budget in (Budget(), Budget(alerts_per_week=0.1, harmful=0.6), Budget(weights={"t": 4, "x": 9})):
        parts = [math.exp(-log_a) * 168 for log_a in thresholds(streams, budget).values()]
        assert sum(parts) == pytest.approx(budget.alerts_per_week)


def test_a_tool_of_more_weight_has_more_of_the_budget() -> None:
    """Four times the weight of another is four times the part; agents are not concerned."""
    streams = {tool: Key("s", "", "a", tool, "failure", "tool" if tool else "agent") for tool in ("t", "u", "")}
    even, weighed = (thresholds(streams, Budget(weights=weights)) for weights in ({}, {"t": 4.0}))
    assert weighed["u", 1] - weighed["t", 1] == pytest.approx(math.log(4))
    assert weighed["t", 1] - even["t", 1] == pytest.approx(math.log(2 * 5 / 4) - math.log(4))
    assert weighed["", 1] == even["", 1]
