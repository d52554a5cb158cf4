from __future__ import annotations

from typing import Any

import pytest

from overclaim.expectations import ToolExpectation
from overclaim.outcome.model import NO_FACTS, Effect, Evidence, Grade, Outcome, ToolFacts
from overclaim.outcome.operations import operation
from overclaim.outcome.results.deciding import decide
from overclaim.outcome.results.observing import exit_evidence, http_evidence, observe
from overclaim.outcome.rule_outcomes import outcome_of_fact
from overclaim.outcome.tool_names import fits
from overclaim.outcome.tool_rules import Entry, ToolRules, merged

ACTIVE = {"success_when": {"field": "status", "equals": "active"}}
HELD = Evidence("postcondition", "postcondition.held", Outcome.SUCCESS, Grade.STRUCTURED, "there")
FAILED = Evidence("postcondition", "postcondition.failed", Outcome.FAILURE, Grade.STRUCTURED, "there")
UNANSWERED = Evidence("postcondition", "postcondition.unanswered", Outcome.UNKNOWN, Grade.STRUCTURED, "timeout")
RAISED = Evidence("exception", "exception.raised", Outcome.FAILURE, Grade.STRUCTURED, "ValueError")


def facts(**declared: Any) -> ToolFacts:
    """What an expectation comes to."""
    return ToolExpectation.model_validate(declared).facts()


def seen(
    result: object, *, arguments: object = None, extra: tuple[Evidence, ...] = (), **declared: Any
) -> tuple[str, str]:
    """The outcome of a call, and the rule that decided."""
    observed = observe(result, facts=facts(**declared), extra=extra, arguments=arguments)
    return observed.outcome.value, observed.evidence[0].rule if observed.evidence else ""


def test_success_when_decides_over_what_the_payload_says() -> None:
    """Neither an error field nor a success flag outweighs the declared condition."""
    assert seen({"status": "active", "error": "odd"}, **ACTIVE) == ("success", "expected.success")
    assert seen({"status": "new", "success": True}, **ACTIVE) == ("failure", "expected.failure")
    assert seen({}, **ACTIVE) == ("failure", "expected.failure")
    assert seen("Done.", **ACTIVE) == ("failure", "expected.failure")


def test_the_evidence_names_the_field_and_not_what_stood_there() -> None:
    """Structured evidence of kind "declared" with the path as its value."""
    observed = observe({"status": "secret word"}, facts=facts(**ACTIVE))
    assert observed.grade is Grade.STRUCTURED
    assert (observed.evidence[0].kind, observed.evidence[0].value) == ("declared", "status")
    assert all("secret" not in one.value for one in observed.evidence)


def test_a_result_that_was_cut_off_accuses_nobody() -> None:
    """Where the field may stand behind the cut the call is neither success nor failure."""
    assert seen('{"id": 7, "stat', **ACTIVE) == ("unknown", "expected.unread")
    assert observe(None, facts=facts(**ACTIVE), captured=False).outcome is Outcome.UNKNOWN


def test_failure_comes_before_pending_before_success() -> None:
    """The worst that is declared and holds counts."""
    declared = {
        "failure_when": {"field": "code", "equals": 1}, "pending_when": {"field": "state", "equals": "queued"},
        "success_when": {"field": "id", "exists": True},
    }  # fmt: skip
    assert seen({"id": 1, "code": 1, "state": "queued"}, **declared) == ("failure", "expected.failure")
    assert seen({"id": 1, "code": 0, "state": "queued"}, **declared) == ("pending", "expected.pending")
    assert seen({"id": 1, "code": 0, "state": "on"}, **declared) == ("success", "expected.success")


def test_failure_when_alone_leaves_the_rest_to_be_read() -> None:
    """A result that does not meet it is read like any other."""
    declared = {"failure_when": {"field": "status", "equals": "declined"}}
    assert seen({"status": "declined"}, **declared)[0] == "failure"
    assert seen({"error": "no such card"}, **declared)[0] == "failure"
    assert seen({"id": "ch_1"}, **declared)[0] == "success"


def test_a_condition_may_compare_with_an_argument() -> None:
    """What was booked must be what was asked for, also where arguments come as JSON."""
    declared = {"success_when": {"field": "amount", "equals_argument": "amount"}}
    assert seen({"amount": "45.00"}, arguments={"amount": 45}, **declared)[0] == "success"
    assert seen({"amount": 54}, arguments='{"amount": 45}', **declared)[0] == "failure"


def test_a_condition_outweighs_no_request_and_no_exception() -> None:
    """A 500 below the call, or an exception out of it, are facts of another kind than the payload."""
    refused = http_evidence("POST", "https://pay.example.com/v1", 500)
    assert seen({"status": "active"}, extra=(refused,), **ACTIVE)[0] == "failure"
    assert seen({"status": "active"}, extra=(RAISED,), **ACTIVE)[0] == "failure"


def test_the_frameworks_error_mark_gives_way_to_the_condition() -> None:
    """An error that is declared to be fine, such as "exists already", is a success."""
    declared = facts(success_when={"field": "", "contains": "exists"})
    assert observe("user exists already", is_error=True, facts=declared).outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ({"valid": False, "errors": ["line 3: no such key"]}, "success"),
        ({"passed": False, "findings": 3}, "success"),
        ({"exit_code": 1, "stdout": "a.py:1: unused import", "stderr": ""}, "success"),
        ("exit code: 1\nFound 3 errors.", "success"),
        ({"exit_code": 2, "stdout": "", "stderr": "no such option"}, "failure"),
        ({"error": "config not found"}, "failure"),
        ("bash: eslint: command not found", "failure"),
    ],
)
def test_a_tool_that_reports_problems_did_its_job(result: object, outcome: str) -> None:
    """Problems it reports are no failure of the call; troubles of its own are."""
    assert seen(result, reports_problems=True)[0] == outcome
    assert observe(result).outcome is not Outcome.SUCCESS or outcome == "success"


def test_expected_exit_codes_are_a_fine_answer() -> None:
    """In the result as well as from a process below the call."""
    declared = facts(expected_exit_codes=[0, 1])
    assert observe({"exit_code": 1, "stdout": "x"}, facts=declared).outcome is Outcome.SUCCESS
    assert exit_evidence(1, facts=declared).outcome is Outcome.SUCCESS
    assert exit_evidence(2, facts=declared).outcome is Outcome.FAILURE


def test_effect_and_target_shape_the_operation() -> None:
    """What is declared to be the target is it, however it looks, and retries with other texts keep the key."""
    declared = facts(effect="write", target=["room", "slot.day"])
    one = operation("reserve", {"room": "Blue room", "slot": {"day": "monday"}, "note": "A-17"}, facts=declared)
    other = operation("reserve", {"room": "Blue room", "slot": {"day": "monday"}, "note": "B-18"}, facts=declared)
    assert one.targets == ("blue room", "monday")
    assert one.effect is Effect.WRITE
    assert one.key == other.key
    assert operation("reserve", {"seat_id": "A-17"}, facts=declared).targets == ("a-17",)


def test_a_postcondition_outweighs_the_payload_both_ways() -> None:
    """What the world shows counts more than what the tool said."""
    assert decide([*observe({"error": "boom"}).evidence, HELD], captured=True).outcome is Outcome.SUCCESS
    assert decide([*observe({"success": True}).evidence, FAILED], captured=True).outcome is Outcome.FAILURE
    first = decide([*observe({"success": True}).evidence, FAILED], captured=True).evidence[0]
    assert first.rule == "postcondition.failed"


def test_a_postcondition_outweighs_requests_and_conditions_but_no_exception() -> None:
    """A refused request on the way did no harm where the thing is so; an exception is what the agent was told."""
    refused = http_evidence("POST", "https://pay.example.com/v1", 409)
    assert decide([refused, HELD], captured=True).outcome is Outcome.SUCCESS
    assert decide([*observe({}, facts=facts(**ACTIVE)).evidence, HELD], captured=True).outcome is Outcome.SUCCESS
    assert decide([RAISED, HELD], captured=True).outcome is Outcome.FAILURE


def test_what_is_pending_need_not_be_there_yet() -> None:
    """A postcondition that fails while the tool says "pending" leaves it pending; one that holds completes it."""
    waiting = observe({"status": "pending"}, effect=Effect.WRITE).evidence
    assert decide([*waiting, FAILED], captured=True).outcome is Outcome.PENDING
    assert decide([*waiting, HELD], captured=True).outcome is Outcome.SUCCESS


def test_a_postcondition_without_an_answer_decides_nothing() -> None:
    """The call is judged as if it had not been asked."""
    assert decide([UNANSWERED], captured=True).outcome is Outcome.SUCCESS
    assert decide([*observe({"error": "boom"}).evidence, UNANSWERED], captured=True).outcome is Outcome.FAILURE
    assert decide([HELD, FAILED], captured=True).outcome is Outcome.FAILURE


@pytest.mark.parametrize(
    ("kind", "rule", "outcome"),
    [
        ("declared", "expected.success", Outcome.SUCCESS), ("declared", "expected.failure", Outcome.FAILURE),
        ("declared", "expected.pending", Outcome.PENDING), ("declared", "expected.unread", Outcome.UNKNOWN),
        ("postcondition", "postcondition.held", Outcome.SUCCESS), ("exit_code", "exit.expected", Outcome.SUCCESS),
        ("postcondition", "postcondition.failed", Outcome.FAILURE), ("exit_code", "expected.report", Outcome.SUCCESS),
        ("postcondition", "postcondition.unanswered", Outcome.UNKNOWN),
    ],
)  # fmt: skip
def test_rules_on_the_wire_mean_what_they_meant(kind: str, rule: str, outcome: Outcome) -> None:
    """A reader of labels knows the outcome of each of our rules, whatever the call came to."""
    assert outcome_of_fact(kind, rule, Outcome.EMPTY) is outcome


def test_names_and_patterns() -> None:
    """A name in snake case fits the same name in any other writing."""
    assert fits("create_user", "createUser")
    assert fits("create_user", "create-user")
    assert fits("*create_charge", "mcp__stripe__create_charge")
    assert fits("STRIPE_*", "stripe_refund")
    assert not fits("create_user", "create_user_group")


def test_the_name_comes_before_patterns_and_fills_up_from_them() -> None:
    """Field by field, the more precise entry first."""
    rules = ToolRules([Entry("*", ToolFacts(True, empty_ok=True)), Entry("pay", ToolFacts(False))])
    assert rules.facts("pay") == ToolFacts(False, empty_ok=True)
    assert rules.facts("look") == ToolFacts(True, empty_ok=True)
    assert rules.facts("pay", ToolFacts(empty_ok=False)) == ToolFacts(False, empty_ok=False)
    assert ToolRules().facts("pay") == NO_FACTS


def test_conditions_of_two_sources_are_not_mixed() -> None:
    """Whoever declares one condition on the results declares all of them."""
    own, pack = facts(**ACTIVE), facts(failure_when={"field": "status", "equals": "active"}, effect="write")
    both = merged((own, pack))
    assert both.failure_when is None
    assert both.effect is Effect.WRITE


def test_facts_are_hashable() -> None:
    """They are keys of caches."""
    more = {"failure_when": {"field": "a", "matches": "x+", "in": [1, "b"]}, "target": ["a"]}
    assert hash(facts(**ACTIVE, **more)) == hash(facts(**ACTIVE, **more))
