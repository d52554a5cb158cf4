from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from generated_procedures import NOON, made_procedures, made_run
from stores import put_labelled

from overclaim.cli import main
from overclaim.outcome.model import Run
from overclaim.procedures import Procedure, judge, load
from overclaim.reading.spans import Span
from overclaim_detectors import judging, sql
from overclaim_detectors.procedures import judge_procedures, store_procedures
from overclaim_detectors.rule import Case, call
from overclaim_detectors.rules import oc401, oc402, oc403, oc404
from overclaim_detectors.store import Store

RULES = (oc401.RULE, oc402.RULE, oc403.RULE, oc404.RULE)
FINDINGS = """
SELECT TraceId, EvidenceValue, Rule, Title, Severity, EvidenceRule, EvidenceSpanId, CallSpanIds
FROM overclaim_findings FINAL WHERE Open
"""
RUNS, PROCEDURES = 700, 120


def by_python(run: Run, procedures: tuple[Procedure, ...]) -> list[tuple[Any, ...]]:
    """The findings of the Python judge, in the shape of the table."""
    span_of = {one.index: one.span_id for one in run.calls}
    return [
        (
            run.trace_id, fact.value, finding.rule, finding.title, finding.severity, fact.rule, fact.span_id,
            [span_of[index] for index in finding.calls],
        )
        for finding in judge(run, procedures)
        for fact in finding.evidence
    ]  # fmt: skip


def by_sql(store: Store, made: list[Any], version: int = 1) -> list[tuple[Any, ...]]:
    """The open findings in the store once these runs are judged by what is declared there."""
    batch = put_labelled(store, made, version)
    judge_procedures(store, batch, version)
    assert judging.find(store, batch, version, RULES).failed == {}
    return store.query(FINDINGS).rows


@pytest.mark.parametrize("seed", range(2))
def test_sql_and_python_find_the_same(store: Store, seed: int) -> None:
    """Many random runs and procedures of every template: the same findings, with the same calls in the same order."""
    procedures = made_procedures(seed, PROCEDURES)
    store_procedures(store, procedures)
    made = [made_run(seed * RUNS + place) for place in range(RUNS)]
    expected = [row for run, _ in made for row in by_python(run, procedures)]
    assert sorted(by_sql(store, made)) == sorted(expected)
    assert {row[2] for row in expected} == {"OC401", "OC402", "OC403", "OC404"}
    assert {row[5].removeprefix("procedure.") for row in expected} == {one.template for one in procedures}


def case(*steps: str, **known: bool) -> list[Any]:
    """A run of successful calls, with its spans."""
    made = Case("x", tuple(call(place, step, "success") for place, step in enumerate(steps)), **known)
    ids = tuple(f"{place + 1:016x}" for place in range(len(steps) + 1))
    run = made.run("1" * 32, ids)
    spans = [Span(run.trace_id, one, start_ns=NOON, end_ns=NOON + 9) for one in ids]
    return [(run, spans)]


def test_what_is_declared_again_changes_nothing(store: Store) -> None:
    """Procedures are versioned: only a change of what is declared is written."""
    procedures = made_procedures(7, 24)
    assert store_procedures(store, procedures)
    declared = store.query("SELECT * FROM overclaim_procedures FINAL ORDER BY Procedure, Part").rows
    assert not store_procedures(store, procedures)
    assert not store_procedures(store, procedures[::-1])
    assert store.query("SELECT * FROM overclaim_procedures FINAL ORDER BY Procedure, Part").rows == declared
    assert store_procedures(store, procedures[:3])
    names = {row["Procedure"] for row in store.query(sql.load("procedures/declared")).dicts()}
    assert names == {"p0", "p1", "p2"}


def test_a_procedure_that_is_no_longer_declared_finds_nothing(store: Store) -> None:
    """When its runs are judged again, its findings are closed."""
    store_procedures(store, load([{"id": "p", "absence": "drop"}]))
    assert len(by_sql(store, case("drop"))) == 1
    store_procedures(store, ())
    assert by_sql(store, case("drop"), version=2) == []


def test_a_late_call_closes_the_finding(store: Store) -> None:
    """The missing step arrives, and the finding that it is missing is taken back."""
    store_procedures(store, load([{"id": "p", "response": {"when": "edit", "then": "test"}}]))
    assert [row[2] for row in by_sql(store, case("edit"))] == ["OC402"]
    assert by_sql(store, case("edit", "test"), version=2) == []


def test_a_finding_keeps_its_identity(store: Store) -> None:
    """One more call that breaks a procedure makes no second finding; another procedure makes one of its own."""
    store_procedures(store, load([{"id": "p", "absence": "drop"}, {"id": "q", "absence": {"action": "delete"}}]))
    for version, steps in ((1, ("drop",)), (2, ("drop", "drop")), (3, ("drop", "delete"))):
        by_sql(store, case(*steps), version)
        rows = store.query("SELECT EvidenceValue, Open FROM overclaim_findings FINAL ORDER BY 1").rows
        assert rows == ([("p", 1)] if version < 3 else [("p", 1), ("q", 1)])


def test_an_incomplete_run_lacks_nothing(store: Store) -> None:
    """Until every span has arrived, no step is missing."""
    store_procedures(store, load([{"id": "p", "existence": "log"}]))
    assert by_sql(store, case("edit", complete=False)) == []
    assert by_sql(store, case("edit", captured=False), version=2) == []
    assert [row[7] for row in by_sql(store, case("edit"), version=3)] == [[]]


def test_commands_tell_of_broken_procedures(store: Store, store_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`detect --fail` fails on them alone, `report` lists them, and `report silent` keeps to failures."""
    url = f"chdb://{store_path}"
    store_procedures(store, load([{"id": "no-drop", "absence": "drop", "description": "Nothing is dropped."}]))
    assert main(["detect", "--fail", "--store", url]) == 0
    by_sql(store, case("drop"))
    capsys.readouterr()
    assert main(["detect", "--fail", "--store", url]) == 1
    assert "open accusations: 0\nprocedures broken: 1 (see `overclaim report procedures`)" in capsys.readouterr().out
    assert main(["report", "procedures", "--since", "2026-01-01", "--store", url]) == 0
    told = capsys.readouterr().out
    assert "OC403" in told
    assert "Nothing is dropped" in told
    assert main(["report", "silent", "--since", "2026-01-01", "--all", "--store", url]) == 0
    assert "OC403" not in capsys.readouterr().out
