from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from both_judges import agreement, by_sql, differences
from generated_runs import make_run
from stores import FINDINGS, put_labelled

from overclaim.checking import Checked, check_files
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Outcome, Run
from overclaim.reading.spans import Span
from overclaim_detectors import judging
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.rule import Case, Rule, call, claim
from overclaim_detectors.store import Store

RUNS = 1000
MANY = 4000
RULES = {
    "claim.about_nothing_seen", "claim.no_call", "claim.reports_failure", "claim.value_mismatch",
    "operation.action_required", "operation.handed_over", "operation.last_outcome_failed",
    "operation.outcome_unknown", "operation.recovered", "operation.started", "operation.still_pending",
    "operation.supported", "operation.unusually_empty", "run.incomplete",
}  # fmt: skip


def case_spans(run: Run, red: tuple[int, ...] = ()) -> list[Span]:
    """A span for the run and one for each of its calls."""
    start = 1_767_268_800_000_000_000
    spans = [Span(run.trace_id, run.span_id, service="shop", start_ns=start, end_ns=start + 9)]
    for one in run.calls:
        status = "Error" if one.index in red else "Unset"
        spans.append(Span(run.trace_id, one.span_id, run.span_id, start_ns=start, end_ns=start + 1, status=status))
    return spans


def _transcripts(folder: Path) -> Path:
    """Ten runs of one tool that returns data, but for the last, which returns nothing; all claim the same."""
    path = folder / "runs.jsonl"
    path.write_text(
        "".join(json.dumps(_booking(number, empty=number == 10)) + "\n" for number in range(1, 11)), "utf-8"
    )
    return path


def _booking(number: int, *, empty: bool) -> dict[str, Any]:
    arguments = json.dumps({"room": f"R-{number}"})
    call = {"id": "c1", "type": "function", "function": {"name": "book_room", "arguments": arguments}}
    result = "" if empty else json.dumps({"booking": f"B-{number}", "room": f"R-{number}"})
    return {
        "id": f"run-{number}",
        "messages": [
            {"role": "user", "content": f"Book room R-{number}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": result},
            {"role": "assistant", "content": f"I have booked room R-{number}."},
        ],
    }


def test_both_judges_agree(store: Store) -> None:
    """SQL and Python give the same verdict, rule, calls and confidence for every claim and run of thousands."""
    judgements = [judge(make_run(seed)[0]) for seed in range(MANY)]
    found = agreement(store, judgements)
    assert found.differences == []
    assert found.agreed == found.runs == MANY
    assert {one.rule for judgement in judgements for one in judgement.claims} == RULES


def test_both_judges_agree_on_files(tmp_path: Path, store: Store) -> None:
    """So they do on runs that were read from a transcript, whose operations are hashed on the way to the store."""
    judgements = [one.judgement for one in check_files([str(_transcripts(tmp_path))]) if isinstance(one, Checked)]
    assert {one.rule for one in judgements} == {"operation.supported", "operation.unusually_empty"}
    assert str(agreement(store, judgements)) == "SQL agrees with Python on 10 of 10 runs"


def test_a_difference_is_told() -> None:
    """Where the judges do not agree, the run and both verdicts are named."""
    run = make_run(3)[0]
    told = list(differences(judge(run), {-1: ("honest", "x", [], 1.0)}, set()))
    assert any(run.id in one and "honest" in one for one in told)


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

    The store tells apart what Python calls by one name: the other OC2xx but OC206 are kinds of it.
    """
    made = [make_run(seed) for seed in range(RUNS)]
    red = [(run, [replace(span, status="Error") for span in spans]) for run, spans in made[: RUNS // 2]]
    batch = put_labelled(store, [*red, *made[RUNS // 2 :]])
    judging.judge(store, batch, version=1)
    judging.find(store, batch, 1, BUILTIN)
    rows = [row for row in store.query(FINDINGS).dicts() if "OC201" <= row["Rule"] <= "OC208"]
    failed = {
        (run.trace_id, run.calls[index].span_id)
        for run, _ in made
        for finding in judge(run).findings
        for index in finding.calls
        if finding.rule == "OC201"
    }
    shown = [(row["TraceId"], call) for row in rows for call in row["CallSpanIds"] if row["Rule"] != "OC206"]
    assert set(shown) == failed
    assert len(shown) == len(failed)


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
    assert by_sql(store, ["1" * 32]) == {"1" * 32: {-1: ("no_claim", "", [], 1.0)}}
