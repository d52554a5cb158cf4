"""What a fact says by its rule alone: for each rule of the package, against what the code gives it."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

import overclaim
from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results.observing import (
    exception_evidence,
    exit_evidence,
    http_evidence,
    no_answer_evidence,
    observe,
)
from overclaim.outcome.results.rules import tail_rules, text_rules
from overclaim.outcome.rule_outcomes import grade_of_fact, outcome_of_fact, outcome_of_rule

PACKAGE = Path(overclaim.__file__).parent
RULE = re.compile(r"\"([a-z]+\.[a-z][a-z0-9_]*)\",\s+Outcome\.([A-Z]+)")
FACTS = [
    *(http_evidence("GET", "/x", status) for status in (100, 200, 202, 204, 301, 400, 404, 429, 500, 503, 999)),
    *(exit_evidence(code) for code in (0, 1, 2, 137)),
    *(exception_evidence(name) for name in ("ValueError", "GraphInterrupt", "StopIteration")),
    no_answer_evidence("GET", "/x"),
]
RESULTS: list[object] = [
    {"status": "failed"}, {"status": "pending"}, {"status": "partial"}, {"ok": True}, {"ok": False}, [], "", None,
    {"rowcount": 0}, {"created": False}, {"created": False, "reason": "full"}, {"error": "x", "status": 503},
    {"id": "a-1", "name": "x", "status": "failed", "at": 1, "by": 2}, {"found": False}, {"results": [], "total": 0},
    "Error: refused", "No results found.", "exit code 1", {"requested": 5, "deleted": 4}, {"failed": [1], "done": 2},
    [{"ok": True}, {"ok": False}], {"detail": [{"loc": ["a"], "msg": "missing"}]}, "[redacted]",
    "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x", "Request accepted, in progress",
]  # fmt: skip


def test_every_rule_in_the_code_has_its_outcome_here() -> None:
    """A rule that the code always gives one outcome says that one; one that depends on the tool says nothing."""
    written: dict[str, set[Outcome]] = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        for rule, outcome in RULE.findall(file.read_text("utf-8")):
            written[rule].add(Outcome[outcome])
    assert len(written) > 30
    for rule, outcomes in written.items():
        assert outcome_of_rule(rule) == (next(iter(outcomes)) if len(outcomes) == 1 else None), rule
    for rule in text_rules():
        assert outcome_of_rule(rule.id) is rule.outcome
    assert all(outcome_of_rule(rule.id) is Outcome.FAILURE for rule in tail_rules())
    assert outcome_of_rule("my.own_rule") is None


@pytest.mark.parametrize("effect", list(Effect))
def test_facts_of_results_and_requests_say_the_same(effect: Effect) -> None:
    """What was observed, taken apart and read back from rule and kind."""
    for result in RESULTS:
        for extra in ((), *((fact,) for fact in FACTS)):
            seen = observe(result, effect=effect, extra=extra)
            for fact in seen.evidence:
                assert outcome_of_rule(fact.rule) in (None, fact.outcome), fact
                assert grade_of_fact(fact.kind, fact.rule) in (None, fact.grade), fact
            if seen.evidence:
                first = seen.evidence[0]
                assert outcome_of_fact(first.kind, first.rule, seen.outcome) is first.outcome


def test_facts_that_depend_go_with_the_call() -> None:
    """Nothing found under a call that failed is no failure; what a program declared is what it declared."""
    assert outcome_of_fact("empty_result", "empty.void", Outcome.SUCCESS) is Outcome.SUCCESS
    assert outcome_of_fact("empty_result", "empty.void", Outcome.EMPTY) is Outcome.EMPTY
    assert outcome_of_fact("row_count", "rows.zero", Outcome.FAILURE) is Outcome.EMPTY
    assert outcome_of_fact("declared", "http.status_5xx", Outcome.SUCCESS) is Outcome.SUCCESS
    assert outcome_of_fact("declared", "stock.gone", Outcome.FAILURE) is Outcome.FAILURE
    suspect = Evidence("swallowed_exception", "http.status_5xx", Outcome.FAILURE, Grade.SUSPECT)
    assert grade_of_fact(suspect.kind, suspect.rule) is Grade.SUSPECT
