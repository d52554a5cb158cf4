"""Evidence from what is declared about a tool, and what it outweighs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from overclaim.outcome.conditions import Result, holds, of_arguments, telling
from overclaim.outcome.model import Condition, Evidence, Grade, Observation, Outcome, ToolFacts

_PAYLOAD: Final = frozenset({"result_flag", "result_text", "row_count", "empty_result", "exit_code"})
_DECIDING: Final = frozenset({"expected.success", "expected.failure", "expected.pending"})
_SAID: Final = {"expected.success": Outcome.SUCCESS, "expected.pending": Outcome.PENDING}
_RAISED: Final = frozenset({"exception.raised", "exception.timeout"})
_LEFT: Final = _RAISED | {"exception.text", "flag.is_error"}
_MAX_FIELD: Final = 64
# How a tool that reports problems reports them. What is missing here, such as an exception, a command that is not
# there or an exit code above 1, is a trouble of its own.
_REPORTS: Final = frozenset({
    "flag.success_false", "flag.failure_true", "flag.passed_false", "flag.error_field", "status_word.failure",
    "status_word.partial", "payload.validation_detail", "batch.item_failed", "count.failed", "count.shortfall",
    "text.shortfall", "text.error_prefix", "text.failure_word", "text.report_failed", "text.section_error",
    "text.status_line", "text.tests_failed", "text.partial", "text.partial_told", "text.build_error",
})  # fmt: skip


def declared_evidence(result: object, facts: ToolFacts, arguments: object) -> list[Evidence]:
    """What the declared conditions make of a result: at most one fact, with the field that decided as its value.

    A failure that is declared comes before what is pending, that before a success. A `success_when` that does not hold
    is a failure; where the result was cut off before the field, the fact is `expected.unread` and decides nothing, for
    what nobody saw accuses nobody.
    """
    given, value = of_arguments(arguments), Result(result)

    def asked(condition: Condition | None, rule: str, outcome: Outcome, answer: bool | None = True) -> list[Evidence]:
        if condition is None or holds(condition, value, given) is not answer:
            return []
        named = telling(condition, value, given, answer)[:_MAX_FIELD]
        return [Evidence("declared", f"expected.{rule}", outcome, Grade.STRUCTURED, named)]

    return (
        asked(facts.failure_when, "failure", Outcome.FAILURE)
        or asked(facts.pending_when, "pending", Outcome.PENDING)
        or asked(facts.success_when, "success", Outcome.SUCCESS)
        or asked(facts.success_when, "failure", Outcome.FAILURE, answer=False)
        or asked(facts.success_when, "unread", Outcome.UNKNOWN, answer=None)
    )


def without_reports(found: list[Evidence]) -> list[Evidence]:
    """Evidence in the result of a tool that reports problems: those it reports are no failure of the call."""
    return [replace(one, rule="expected.report", outcome=Outcome.SUCCESS) if _is_report(one) else one for one in found]


def said(observed: Observation) -> Outcome | None:
    """What a result told the agent, where a declared condition knows how to read it; None where none does.

    Not what it failed to say: a result that misses `success_when` may well have told the agent that all went well.
    """
    rule = observed.evidence[0].rule if observed.evidence else ""
    return _SAID.get(rule)


def outweighed(evidence: list[Evidence]) -> list[Evidence]:
    """Evidence as it is, save what a declared condition or a postcondition outweighs: that becomes a suspicion.

    A condition outweighs what was read in the result, but no HTTP status and no exception. What the tool itself
    declares (`overclaim.observe`) outweighs all but an exception that left it. A postcondition saw how things are after
    the call: where it holds it outweighs all but an exception that left the tool, where it fails it outweighs all but
    that the work is still pending.
    """
    verified = {one.outcome for one in evidence if one.kind == "postcondition"} - {Outcome.UNKNOWN}
    if verified:
        return _verified(evidence, verified)
    if any(map(_is_told, evidence)):
        return [one if _is_told(one) or one.rule in _LEFT else _doubted(one) for one in evidence]
    if any(one.kind == "declared" and one.rule in _DECIDING for one in evidence):
        return [_doubted(one) if _is_payload(one) else one for one in evidence]
    return evidence


def _verified(evidence: list[Evidence], verified: set[Outcome]) -> list[Evidence]:
    pending = any(one.outcome is Outcome.PENDING and one.grade is Grade.STRUCTURED for one in evidence)
    if Outcome.FAILURE in verified and pending:
        return [_doubted(one) if one.kind == "postcondition" else one for one in evidence]
    return [one if one.kind == "postcondition" or one.rule in _RAISED else _doubted(one) for one in evidence]


def _is_told(one: Evidence) -> bool:
    """Whether the tool itself declared what it came to, which it knows better than its result shows."""
    return one.kind == "declared" and not one.rule.startswith("expected.") and one.outcome is not Outcome.UNKNOWN


def _doubted(one: Evidence) -> Evidence:
    return replace(one, grade=Grade.SUSPECT)


def _is_payload(one: Evidence) -> bool:
    return one.kind in _PAYLOAD and not (one.kind == "exit_code" and one.span_id)


def _is_report(one: Evidence) -> bool:
    if one.outcome is not Outcome.FAILURE or one.kind not in _PAYLOAD:
        return False
    return one.rule in _REPORTS and not (one.rule == "flag.error_field" and not one.value.endswith("s"))
