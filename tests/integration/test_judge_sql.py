from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from generated_runs import make_run
from stores import FINDINGS, VERDICTS, put_labelled

from overclaim.outcome.judge import judge
from overclaim.outcome.model import Outcome, Run
from overclaim.reading.spans import Span
from overclaim_detectors import judging
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.rule import Case, Rule, call, claim
from overclaim_detectors.store import Store

RUNS = 1000


def by_python(run: Run) -> dict[tuple[str, int], tuple[Any, ...]]:
    """The verdicts of the Python judge, in the shape of the table."""
    judgement = judge(run)
    span_of = {one.index: one.span_id for one in run.calls}
    leading = next((one for one in judgement.claims if one.verdict is judgement.verdict), None)
    found: dict[tuple[str, int], tuple[Any, ...]] = {
        (run.trace_id, place): (one.verdict.value, one.rule, [span_of[index] for index in one.calls])
        for place, one in enumerate(judgement.claims)
    }
    shown = [span_of[index] for index in leading.calls] if leading else []
    found[run.trace_id, -1] = (judgement.verdict.value, judgement.rule, shown)
    return found


def by_sql(store: Store) -> dict[tuple[str, int], tuple[Any, ...]]:
    """The verdicts in the store."""
    rows = store.query(VERDICTS).dicts()
    return {(row["TraceId"], row["Claim"]): (row["Label"], row["Rule"], row["Calls"]) for row in rows}


def case_spans(run: Run, red: tuple[int, ...] = ()) -> list[Span]:
    """A span for the run and one for each of its calls."""
    start = 1_767_268_800_000_000_000
    spans = [Span(run.trace_id, run.span_id, service="shop", start_ns=start, end_ns=start + 9)]
    for one in run.calls:
        status = "Error" if one.index in red else "Unset"
        spans.append(Span(run.trace_id, one.span_id, run.span_id, start_ns=start, end_ns=start + 1, status=status))
    return spans


def test_both_judges_agree(store: Store) -> None:
    """SQL and Python give the same verdict, rule and calls for every claim and every run, in one batch of many."""
    made = [make_run(seed) for seed in range(RUNS)]
    batch = put_labelled(store, made)
    judging.judge(store, batch, version=1)
    expected = {key: value for run, _ in made for key, value in by_python(run).items()}
    assert by_sql(store) == expected
    assert {label for label, _, _ in expected.values()} >= {"contradicted", "unsupported", "pending", "recovered"}


def test_both_judges_agree_on_confidence(store: Store) -> None:
    """The stated confidence of a run's verdict is the same too."""
    made = [make_run(seed) for seed in range(RUNS, RUNS + 200)]
    judging.judge(store, put_labelled(store, made), version=1)
    rows = store.query(VERDICTS).dicts()
    found = {row["TraceId"]: row["Confidence"] for row in rows if row["Claim"] == -1}
    assert found == pytest.approx({run.trace_id: judge(run).confidence for run, _ in made}, abs=1e-3)


def test_both_sides_agree_on_who_noticed(store: Store) -> None:
    """The mended calls are the same, and what nobody noticed is what Python calls a silent failure."""
    made = [make_run(seed) for seed in range(RUNS)]
    judging.judge(store, put_labelled(store, made), version=1)
    failures = store.query("SELECT SpanId, Mended, Reported, Accused FROM overclaim_failures FINAL").rows
    mended = {span_id for span_id, yes, _, _ in failures if yes}
    unnoticed = {span_id for span_id, *noticed in failures if not any(noticed)}
    assert mended == {run.calls[index].span_id for run, _ in made for index in judge(run).recovered}
    silent = [(run, finding) for run, _ in made for finding in judge(run).findings if finding.rule == "OC201"]
    assert unnoticed == {run.calls[index].span_id for run, finding in silent for index in finding.calls}


def test_accusing_findings_are_those_of_python(store: Store) -> None:
    """Each accusation of the Python judge is a finding with the same rule and severity, and there are no others."""
    made = [make_run(seed) for seed in range(RUNS)]
    batch = put_labelled(store, made)
    judging.judge(store, batch, version=1)
    judging.find(store, batch, 1, BUILTIN)
    rows = [row for row in store.query(FINDINGS).dicts() if row["Rule"] < "OC104"]
    expected = [
        (run.trace_id, finding.rule, finding.severity)
        for run, _ in made
        for finding in judge(run).findings
        if finding.rule < "OC104"
    ]
    assert sorted((row["TraceId"], row["Rule"], row["Severity"]) for row in rows) == sorted(expected)


def test_silent_failures_are_those_of_python(store: Store) -> None:
    """Each failure that Python calls silent is found in the store too, whatever the status of its span, and no other.

    The store tells apart what Python calls by one name: OC202 and OC203 are kinds of it.
    """
    made = [make_run(seed) for seed in range(RUNS)]
    red = [(run, [replace(span, status="Error") for span in spans]) for run, spans in made[: RUNS // 2]]
    batch = put_labelled(store, [*red, *made[RUNS // 2 :]])
    judging.judge(store, batch, version=1)
    judging.find(store, batch, 1, BUILTIN)
    rows = [row for row in store.query(FINDINGS).dicts() if row["Rule"] in ("OC201", "OC202", "OC203")]
    failed = {
        (run.trace_id, run.calls[index].span_id)
        for run, _ in made
        for finding in judge(run).findings
        for index in finding.calls
        if finding.rule == "OC201"
    }
    assert {(row["TraceId"], row["CallSpanIds"][0]) for row in rows} == failed
    assert len(rows) == len(failed)


def test_a_red_span_makes_a_silent_failure_less_severe(store: Store) -> None:
    """It is found all the same."""
    severity: dict[tuple[str, tuple[int, ...]], str] = {}
    for place, (effect, red) in enumerate((("write", ()), ("write", (0,)), ("read", ()), ("read", (0,)))):
        case = Case("x", (call(0, "send", "failure", effect=effect, claimed="failure"),), red=red)
        run = case.run(f"{place + 1:032x}", ("a" * 16, "b" * 16))
        batch = put_labelled(store, [(run, case_spans(run, red))])
        judging.judge(store, batch, 1)
        judging.find(store, batch, 1, BUILTIN)
        (found,) = [row for row in store.query(FINDINGS).dicts() if row["TraceId"] == run.trace_id]
        severity[effect, red] = f"{found['Rule']} {found['Severity']}"
    assert list(severity.values()) == ["OC201 high", "OC201 medium", "OC201 medium", "OC201 low"]


def test_rules_fire_on_their_cases_and_on_nothing_else(store: Store) -> None:
    """Every rule fires on each case it must fire on, and is quiet on the others."""
    expected: dict[str, tuple[str, str, bool]] = {}
    made: list[tuple[Run, list[Span]]] = []
    for rule in BUILTIN:
        for case in (*rule.fires, *rule.quiet):
            trace_id = f"{len(made) + 1:032x}"
            spans = tuple(f"{len(made) + 1:08x}{place:08x}" for place in range(len(case.calls) + 1))
            run = case.run(trace_id, spans)
            made.append((run, case_spans(run, case.red)))
            expected[trace_id] = (rule.id, case.name, case in rule.fires)
    batch = put_labelled(store, made)
    judging.judge(store, batch, version=1)
    assert judging.find(store, batch, 1, BUILTIN).failed == {}
    fired = {(row["TraceId"], row["Rule"]) for row in store.query(FINDINGS).dicts()}
    wrong = [
        f"{rule} {'is quiet' if fires else 'fires'} on: {name}"
        for trace_id, (rule, name, fires) in expected.items()
        if ((trace_id, rule) in fired) is not fires
    ]
    assert wrong == []


def test_a_finding_is_closed_when_it_no_longer_holds(store: Store) -> None:
    """A second pass over a trace takes back what it does not find again, and keeps the id of what it does."""
    run = Case("x", (call(0, "create", "failure"),), (claim("success", 0),)).run("1" * 32, ("a" * 16, "b" * 16))
    for version, made in ((1, run), (2, run), (3, replace(run, claims=(claim("failure", 0),)))):
        batch = put_labelled(store, [(made, case_spans(made))], version)
        judging.judge(store, batch, version)
        judging.find(store, batch, version, BUILTIN)
        rows = store.query("SELECT Rule, Open FROM overclaim_findings FINAL WHERE Rule = 'OC101'").rows
        assert rows == [("OC101", 1 if version < 3 else 0)]


def test_a_rule_that_fails_stops_no_other(store: Store) -> None:
    """Broken SQL and missing columns are reported by rule; the findings of the others are there."""
    broken = Rule("XX001", "broken", "", text="SELECT nothing FROM nowhere")
    shallow = Rule("XX002", "shallow", "", text="SELECT 1 AS TraceId")
    run = Case("x", (call(0, "create", "failure"),), (claim("success", 0),)).run("1" * 32, ("a" * 16, "b" * 16))
    batch = put_labelled(store, [(run, case_spans(run))])
    judging.judge(store, batch, 1)
    found = judging.find(store, batch, 1, (broken, shallow, *BUILTIN))
    assert set(found.failed) == {"XX001", "XX002"}
    assert "no column" in found.failed["XX002"]
    assert found.findings


def test_an_unclaimed_run_is_no_claim(store: Store) -> None:
    """A run without calls and claims has a verdict too."""
    run = Case("x", claimed=Outcome.NONE).run("1" * 32, ("a" * 16,))
    judging.judge(store, put_labelled(store, [(run, case_spans(run))]), 1)
    assert by_sql(store) == {("1" * 32, -1): ("no_claim", "", [])}
