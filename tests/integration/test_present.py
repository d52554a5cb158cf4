"""What judging leaves out because nothing can come of it: only what really has no answer."""

from __future__ import annotations

import pytest
from generated_runs import make_run
from rule_cases import case_runs, trace_of
from stores import FINDINGS, put_labelled

from overclaim_detectors import judging
from overclaim_detectors.batched import Batched
from overclaim_detectors.inbox import Batch
from overclaim_detectors.registry import BUILTIN
from overclaim_detectors.store import Store

RUNS = 40
NEEDS = judging.NEEDS
EVERYTHING = (0, 2**62)
WRITTEN = """
SELECT 'judge/ways' AS Query, TraceId FROM overclaim_ways UNION ALL
SELECT 'judge/failures', TraceId FROM overclaim_failures
"""


def present(store: Store, trace: str, version: int = 1) -> frozenset[str]:
    """What there is about one trace."""
    return Batched(store, Batch((trace,), *EVERYTHING), version).present


def test_every_case_of_a_rule_is_asked_about(store: Store) -> None:
    """A run on which a rule fires has what the rule's question needs, when it is looked at alone."""
    cases = [(rule, case) for rule in BUILTIN if rule.query in NEEDS for case in rule.fires]
    assert {rule.query for rule, _ in cases} == {query for query in NEEDS if not query.startswith("judge/")} | {
        "judge/accusations"
    }
    for number, (_, case) in enumerate(cases):
        put_labelled(store, case_runs(case, number))
    for number, (rule, case) in enumerate(cases):
        assert not present(store, trace_of(number)).isdisjoint(NEEDS[rule.query]), (rule.id, case.name)


def test_what_is_left_out_would_have_had_no_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """When nothing is left out, each row and finding is one of a trace that has what its question needs."""
    monkeypatch.setattr(judging, "NEEDS", {})
    batch = put_labelled(store, [make_run(seed) for seed in range(RUNS)])
    judging.judge(store, batch, version=1)
    judging.find(store, batch, 1, BUILTIN)
    queries = {rule.id: rule.query for rule in BUILTIN}
    found = {(queries[row["Rule"]], row["TraceId"]) for row in store.query(FINDINGS).dicts()}
    found |= {(str(query), str(trace)) for query, trace in store.query(WRITTEN).rows}
    assert {query for query, _ in found} >= {"judge/ways", "judge/failures", "judge/accusations", "detect/unnoticed"}
    for query, trace in found:
        assert not present(store, trace).isdisjoint(NEEDS[query]), (query, trace)


def test_nothing_is_taken_back_that_was_never_written(store: Store) -> None:
    """Tables are named only when an earlier pass wrote to them about these traces."""
    batch = put_labelled(store, [make_run(seed) for seed in range(RUNS)])
    tables = {"operations", "verdicts", "failures", "breaches", "findings"}
    assert not Batched(store, batch, 1).present & tables
    judging.judge(store, batch, version=1)
    judging.find(store, batch, 1, BUILTIN)
    assert not Batched(store, batch, 1).present & tables
    assert Batched(store, batch, 2).present >= tables - {"breaches"}
    assert not present(store, "f" * 32, 2)
