"""The rules together, through the real SQL, on runs made up from a seed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from generated_runs import make_run
from rule_cases import CaseRun, case_runs, trace_of
from stores import FINDINGS, put_labelled

from overclaim.outcome.model import (
    BoundClaim,
    Call,
    Claim,
    Effect,
    Evidence,
    Grade,
    Observation,
    Outcome,
    Quantity,
    Run,
)
from overclaim.procedures import Procedure
from overclaim.reading.spans import Span
from overclaim_detectors import judging, sql
from overclaim_detectors.procedures import store_procedures
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.rule import Case, Rule
from overclaim_detectors.store import Store

RUNS = 500
ONE_EACH = {"OC201", "OC202", "OC203", "OC204", "OC207", "OC208"}
TOLD = ("batch.item_failed", "status_word.partial", "exception.timeout", "http.status_4xx", "exception.raised")
ONE_OF = {"OC101", "OC102", "OC103", "OC205", "OC308"}
CLAIMS = "SELECT Rule, TraceId, RunSpanId, Claim FROM overclaim_findings FINAL WHERE Open AND Claim >= 0"
UNNOTICED = """
SELECT f.TraceId, f.SpanId, c.Operation FROM overclaim_failures AS f FINAL
INNER JOIN overclaim_calls AS c FINAL ON f.TraceId = c.TraceId AND f.SpanId = c.SpanId
WHERE NOT (f.Mended OR f.Reported OR f.Accused)
"""


def varied(seed: int) -> tuple[Run, list[Span]]:
    """A generated run whose failures are of many kinds, some of them tried several times."""
    dice = random.Random(seed)
    run, spans = make_run(seed)
    calls = [replace(one, observed=_failed(dice, one)) if _fails(one) else one for one in run.calls]
    for _ in range(dice.choice((0, 0, 2, 3)) if calls else 0):
        calls.append(replace(dice.choice(calls[-2:]), index=len(calls), span_id=f"{seed + 1:08x}{len(calls) + 65:08x}"))
    bare = Span(run.trace_id, "", run.span_id, start_ns=spans[0].start_ns, end_ns=spans[0].end_ns)
    spans += [replace(bare, span_id=one.span_id) for one in calls[len(run.calls) :]]
    return replace(run, calls=tuple(calls)), spans


def _fails(one: Call) -> bool:
    return one.observed.outcome is Outcome.FAILURE


def _failed(dice: random.Random, one: Call) -> Observation:
    child = dice.choice(("", "", "00000000000000c1"))
    fact = Evidence("result_flag", dice.choice(TOLD), Outcome.FAILURE, one.observed.grade, "504", span_id=child)
    return replace(one.observed, evidence=(fact,))


def test_each_failure_is_reported_by_one_rule(store: Store) -> None:
    """Whatever the kinds of failures: no call is in two findings of these rules, or in one twice, and none is left out.

    OC207 shows the first three of its tries; the others are of the same operation.
    """
    batch = put_labelled(store, [varied(seed) for seed in range(RUNS)])
    judging.judge(store, batch, version=1)
    found = judging.find(store, batch, 1, BUILTIN)
    everything = store.query(FINDINGS).dicts()
    assert found.failed == {}
    assert found.findings == len(everything)
    rows = [row for row in everything if row["Rule"] in ONE_EACH]
    operation = {(trace, span): key for trace, span, key in store.query(UNNOTICED).rows}
    shown = Counter((row["TraceId"], call) for row in rows for call in row["CallSpanIds"])
    assert {row["Rule"] for row in rows} == ONE_EACH
    assert set(shown.values()) == {1}
    assert shown.keys() <= operation.keys()
    tried = [(row["TraceId"], row["CallSpanIds"][0]) for row in rows if row["Rule"] == "OC207"]
    given_up = {(one[0], operation[one]) for one in tried}
    assert {(one[0], operation[one]) for one in operation if one not in shown} <= given_up


def test_no_claim_is_accused_by_two_rules(store: Store) -> None:
    """A claim that is contradicted, unsupported or pending is in no finding about parts and checks, and the reverse."""
    batch = put_labelled(store, [boasting(*varied(seed)) for seed in range(RUNS)])
    judging.judge(store, batch, version=1)
    judging.find(store, batch, 1, BUILTIN)
    rows = [row for row in store.query(CLAIMS).dicts() if row["Rule"] in ONE_OF]
    assert {row["Rule"] for row in rows} == ONE_OF
    accused = Counter((row["TraceId"], row["Claim"]) for row in rows)
    assert set(accused.values()) == {1}


def boasting(run: Run, spans: list[Span]) -> tuple[Run, list[Span]]:
    """The run with claims about all there are, and of checks of what was done; what it looked at is a part."""
    part = Evidence("result_flag", "result.truncated", Outcome.UNKNOWN, Grade.INFERRED, "hasmore")
    calls = [
        replace(one, observed=replace(one.observed, evidence=(*one.observed.evidence, part)))
        if one.observed.outcome is Outcome.SUCCESS and one.operation.effect is Effect.READ
        else one
        for one in run.calls
    ]
    told = [replace(one, claim=replace(one.claim, quantity=Quantity(everything=True))) for one in run.claims]
    looks = tuple(one.index for one in run.calls if one.operation.effect is not Effect.WRITE)
    checked = BoundClaim(Claim(Outcome.SUCCESS, action="test"), looks[:1])
    return replace(run, calls=tuple(calls), claims=(*told, checked), claimed=Outcome.SUCCESS), spans


def test_rules_fire_on_their_cases_and_on_nothing_else(store: Store) -> None:
    """Every rule fires on each case it must fire on, with a severity that it lists, and is quiet on the others."""
    expected: dict[str, tuple[Rule, Case]] = {}
    runs: list[CaseRun] = []
    declared: list[Procedure] = []
    for rule in (one for one in BUILTIN if one.scope == "run"):
        for case in (*rule.fires, *rule.quiet):
            trace_id = trace_of(len(expected))
            runs += case_runs(case, len(expected))
            declared += case.declared(trace_id)
            expected[trace_id] = (rule, case)
    store_procedures(store, declared)
    batch = put_labelled(store, runs)
    judging.judge(store, batch, version=1)
    assert judging.find(store, batch, 1, BUILTIN).failed == {}
    rows = store.query(FINDINGS).dicts()
    fired = {(row["TraceId"], row["Rule"]) for row in rows}
    wrong = [
        f"{rule.id} {'is quiet' if case in rule.fires else 'fires'} on: {case.name}"
        for trace_id, (rule, case) in expected.items()
        if ((trace_id, rule.id) in fired) is not (case in rule.fires)
    ]
    assert wrong == []
    listed = {rule.id: rule.severities for rule in BUILTIN}
    assert [row for row in rows if row["Severity"] not in listed[row["Rule"]]] == []


def test_what_is_labelled_again_is_no_habit(store: Store) -> None:
    """Ten runs with an answer that were labelled twice, and ten taken back, are ten runs: too few for OC302."""
    fires = next(rule for rule in BUILTIN if rule.id == "OC302").fires[0]
    runs = case_runs(fires, 0)
    earlier, judged = runs[:20], runs[20:]
    put_labelled(store, earlier, 1)
    batch = put_labelled(store, [*earlier[:10], *judged], 2)
    gone = [run.trace_id for run, _ in earlier[10:]]
    store.command(sql.load("label/retire_runs"), batch.params(version=2) | {"traces": gone})
    judging.judge(store, batch, version=2)
    judging.find(store, batch, 2, BUILTIN)
    assert [row["Rule"] for row in store.query(FINDINGS).dicts() if row["Rule"] == "OC302"] == []
