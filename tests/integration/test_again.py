"""Judging again, large batches, and passes over almost nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from generated_runs import NOON, make_run
from stores import FINDINGS, VERDICTS, put_labelled

from overclaim._errors import InputError
from overclaim.outcome.history import last_calls
from overclaim.outcome.model import Run
from overclaim.reading.spans import Span
from overclaim_detectors import again, batched, judging
from overclaim_detectors.again import judge_again
from overclaim_detectors.batched import together
from overclaim_detectors.commands import DETECT
from overclaim_detectors.inbox import MAX_GAP_NS, Batch, Inbox, enter_traces
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.rule import Case, Rule, call, claim
from overclaim_detectors.runner import pause
from overclaim_detectors.store import Store

RUNS = 180  # one a minute, so three hours
HOUR_NS = 3_600_000_000_000
FAILURES = "SELECT * EXCEPT Version FROM overclaim_failures FINAL ORDER BY TraceId, SpanId"
TOGETHER = """
SELECT arrayJoin({rules:Array(String)}) AS Rule, TraceId, SpanId AS RunSpanId, toInt32(-1) AS Claim,
'' AS ClaimSpanId, [SpanId] AS CallSpanIds, '' AS EvidenceRule, '' AS EvidenceValue, SpanId AS EvidenceSpanId,
ServiceName, Environment, Agent, AgentVersion, Model, '' AS Tool, toUnixTimestamp64Nano(Started) AS At,
'low' AS Severity FROM overclaim_runs FINAL WHERE TraceId IN {traces:Array(String)}
"""


def judged(store: Store, runs: int = RUNS) -> None:
    """Generated runs, labelled and judged."""
    batch = put_labelled(store, [make_run(seed) for seed in range(runs)])
    judging.judge(store, batch, version=1)
    judging.find(store, batch, 1, BUILTIN)


def everything(store: Store) -> list[list[tuple[Any, ...]]]:
    """All that judging writes and people read."""
    return [store.query(text).rows for text in (VERDICTS, FAILURES, FINDINGS)]


def spoil(store: Store) -> None:
    """Wrong verdicts in the place of all, findings closed, and failures gone."""
    columns = "TraceId, RunSpanId, Claim, Label, Started, Version"
    wrong = "SELECT TraceId, RunSpanId, Claim, 'pending', Started, 2 FROM overclaim_verdicts FINAL"
    store.command(f"INSERT INTO overclaim_verdicts ({columns}) {wrong}")
    store.command(
        "INSERT INTO overclaim_findings SELECT * REPLACE (0 AS Open, 2 AS Version) FROM overclaim_findings FINAL"
    )
    store.command("TRUNCATE TABLE overclaim_failures")


def test_what_was_spoilt_is_judged_again(store: Store) -> None:
    """Verdicts, failures and findings are made from the labels alone, as they were."""
    judged(store)
    expected = everything(store)
    spoil(store)
    assert everything(store) != expected
    assert judge_again(store).judged == RUNS
    assert everything(store) == expected


def test_judging_again_goes_on_after_a_crash(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches that were judged before the end of the process are not judged once more, and none is left out."""
    judged(store)
    expected = everything(store)
    spoil(store)
    monkeypatch.setattr(again, "TRACES", 60)
    find, made = judging.find, list[Batch]()

    def die_at_the_third(store: Store, batch: Batch, *rest: Any) -> judging.Found:
        made.append(batch)
        if len(made) == 3:
            raise KeyboardInterrupt
        return find(store, batch, *rest)

    monkeypatch.setattr(judging, "find", die_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        judge_again(store)
    assert judge_again(store).judged == RUNS - len(made[0].traces) - len(made[1].traces) < RUNS
    assert everything(store) == expected
    assert judge_again(store).judged == RUNS  # it came to its end, so that the next begins at the beginning


def test_judging_again_from_a_time_on(store: Store) -> None:
    """Only runs that started since then are judged again."""
    judged(store)
    since = datetime.fromtimestamp(NOON // 10**9 + 7200, UTC)
    assert judge_again(store, since).judged == RUNS - 120


def test_a_run_of_days_is_judged_as_a_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its calls lie in thirty hours; whatever other runs its batch holds, the last call counts and is found."""
    calls = tuple(call(index, "send", "failure" if index == 30 else "success") for index in range(31))
    whole = Case("x", calls, (claim("success", 30),)).run("f" * 32, tuple(f"{place:016x}" for place in range(32)))
    spans = [Span(whole.trace_id, whole.span_id, start_ns=NOON, end_ns=NOON + 31 * HOUR_NS)]
    spans += [
        Span(whole.trace_id, one.span_id, whole.span_id, start_ns=NOON + one.index * HOUR_NS) for one in whole.calls
    ]
    made: list[tuple[Run, list[Span]]] = [(whole, spans), *(make_run(seed) for seed in range(40))]
    judging.judge(store, put_labelled(store, made), version=1)
    enter_traces(store, [(whole.trace_id, len(spans), NOON, NOON + 30 * HOUR_NS)])
    expected = store.query(VERDICTS).rows
    assert ("f" * 32, 0, "contradicted") in [row[:3] for row in expected]
    for size in (10, 30):
        monkeypatch.setattr(again, "TRACES", size)
        judge_again(store)
        assert store.query(VERDICTS).rows == expected


def test_a_large_batch_is_judged_like_a_small_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the traces stand in the statement or in a table, what comes of them is the same."""
    judged(store)
    expected = everything(store)
    spoil(store)
    monkeypatch.setattr(batched, "LARGE", 0)
    judge_again(store)
    assert everything(store) == expected
    assert store.query("SELECT uniqExact(TraceId) FROM overclaim_batch").rows == [(RUNS,)]


def test_operations_are_those_of_python(store: Store) -> None:
    """Each operation of each run has its attempts in their order, and the call that tells its state."""
    made = [make_run(seed) for seed in range(RUNS)]
    judging.judge(store, put_labelled(store, made), version=1)
    rows = store.query(
        "SELECT TraceId, Calls, LastSpanId, Observed, FirstObserved FROM overclaim_operations FINAL"
    ).rows
    expected = list[tuple[Any, ...]]()
    for run, _ in made:
        for key in {one.operation.key for one in run.calls}:
            its = [one for one in run.calls if one.operation.key == key]
            (last,) = last_calls(run.calls, {key})
            observed = (last.observed.outcome.value, its[0].observed.outcome.value)
            expected.append((run.trace_id, [one.span_id for one in its], last.span_id, *observed))
    assert sorted(rows) == sorted(expected)


def test_an_operation_that_is_no_longer_is_taken_back(store: Store) -> None:
    """A call that turns out to do something else leaves no row of what it was held for."""
    run, spans = make_run(1)
    assert run.calls
    for version, made in ((1, run), (2, replace(run, calls=(), claims=()))):
        batch = put_labelled(store, [(made, spans)], version)
        if version == 2:
            store.command("TRUNCATE TABLE overclaim_calls")
        judging.judge(store, batch, version)
        assert bool(store.query("SELECT 1 FROM overclaim_operations FINAL").rows) is (version == 1)


def test_rules_with_one_question_are_asked_together(store: Store) -> None:
    """Each row says of which rule it is; where the question fails, it fails for all of them."""
    rules = [Rule(f"XX00{number}", f"rule {number}", "", text=TOGETHER) for number in (1, 2)]
    broken = [
        Rule(f"XX00{number}", "broken", "", text="SELECT {rules:Array(String)} FROM nowhere") for number in (3, 4)
    ]
    run = Case("x", (call(0, "create", "failure"),)).run("1" * 32, ("a" * 16, "b" * 16))
    batch = put_labelled(store, [(run, [Span(run.trace_id, one, start_ns=NOON) for one in ("a" * 16, "b" * 16)])])
    found = judging.find(store, batch, 1, [*rules, *broken])
    rows = store.query("SELECT Rule, Title FROM overclaim_findings FINAL WHERE Open ORDER BY Rule").rows
    assert rows == [("XX001", "rule 1"), ("XX002", "rule 2")]
    assert set(found.failed) == {"XX003", "XX004"}


def test_nothing_new_costs_one_question(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle pass asks once; what arrives is seen at once, and so is what arrived earlier and shows late."""
    inbox = Inbox(store)
    assert [inbox.next(), inbox.next()] == [None, None]
    asked = list[str]()
    query: Callable[..., Any] = store.query

    def counted(text: str, params: Any = None) -> Any:
        asked.append(text)
        return query(text, params)

    monkeypatch.setattr(store, "query", counted)
    assert inbox.next() is None
    assert len(asked) == 1
    for seconds, trace in ((0, "a" * 32), (60, "b" * 32)):
        columns = "Arrived, TraceId, Spans, Earliest, Latest"
        row = f"now64(3) - {seconds}, '{trace}', 1, now64(9), now64(9)"
        store.command(f"INSERT INTO overclaim_inbox ({columns}) SELECT {row}")
        piece = inbox.next()
        assert piece
        assert [batch.traces for batch in piece.batches] == [(trace,)]
        inbox.done(piece)
        assert [inbox.next(), inbox.next()] == [None, None]
    asked.clear()
    assert inbox.next() is None
    assert len(asked) == 1


def test_batches_are_judged_together_where_they_are_near() -> None:
    """In their order, up to so many traces and batches, and never across a day without spans."""
    near = [Batch((f"a{number}",), number, number + 5) for number in range(25)]
    far = Batch(("far",), 100 + MAX_GAP_NS, 100 + MAX_GAP_NS)
    large = Batch(tuple(f"l{number}" for number in range(4_999)), far.latest, far.latest + 1)
    found = list(together([*near, far, large, near[0]]))
    assert [len(batch.traces) for batch in found] == [10, 10, 5, 5_000, 1]
    assert (found[0].earliest, found[0].latest) == (0, 14)
    assert [trace for batch in found for trace in batch.traces][:25] == [batch.traces[0] for batch in near]


def test_a_pause_grows_with_the_pass_before_it() -> None:
    """A pass is a tenth of the time, but for the longest, after which nobody waits for more than five intervals."""
    assert [pause(2.0, took) for took in (0.001, 0.2, 0.5, 1.0, 60.0)] == [2.0, 2.0, 4.5, 9.0, 10.0]


def test_a_time_is_for_judging_again_alone() -> None:
    """A pass takes what arrived, so that --since would mean nothing there."""
    with pytest.raises(InputError, match="--again"):
        DETECT.run(_arguments("--since", "1d"))


def _arguments(*given: str) -> Any:
    import argparse

    parser = argparse.ArgumentParser()
    DETECT.configure(parser)
    return parser.parse_args(given)
