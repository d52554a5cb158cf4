"""What a rule says by its id alone, for readers of labels: on a span a fact is a kind, a rule id and a value."""

from __future__ import annotations

from functools import cache

from overclaim.outcome.model import Grade, Outcome
from overclaim.outcome.results.rules import line_rules, tail_rules, text_rules

_SUSPECT_KINDS = frozenset({"swallowed_exception", "log_record"})
_VOID_KINDS = frozenset({"empty_result", "row_count"})
_VOID = (Outcome.SUCCESS, Outcome.EMPTY)
# Rules that are not here depend on the tool: a void result, 0 rows, a declared fact under a name of the user's own.
_OUTCOMES = {
    Outcome.SUCCESS: (
        "http.status_2xx", "http.status_3xx", "http.expected", "exit.zero", "exit.expected", "exit.as_asked", "db.ok",
        "grpc.ok", "flag.success_true", "status_word.success", "empty.allowed",
        "record.status_word_success", "status_word.as_asked",
        "expected.success", "expected.report", "postcondition.held", "db.rows",
    ),
    Outcome.FAILURE: (
        "http.status_4xx", "http.status_5xx", "http.no_response", "exit.nonzero", "exception.raised", "exception.text",
        "db.error", "grpc.status", "rpc.status_code", "span.status_error", "span.inner_error",
        "flag.is_error", "flag.message_error", "flag.success_false", "flag.failure_true", "flag.passed_false",
        "flag.error_field", "status_word.failure", "status_word.partial", "record.status_word_failure",
        "record.status_word_partial", "record.error_field", "payload.validation_detail", "batch.item_failed",
        "count.failed", "count.shortfall", "text.shortfall", "text.traceback_at_end", "text.error_page",
        "text.xml_error", "text.log_ends_badly", "flag.own_code", "flag.error_name", "flag.error_link",
        "claim.value_mismatch", "target.other", "target.not_reached", "target.not_asked", "target.from_nowhere",
        "target.other_date", "target.other_time", "quantity.fewer_done", "quantity.other_amount",
        "quantity.other_value", "target.other_receiver", "quantity.other_share", "verification.differs",
        "operation.last_outcome_failed", "expected.failure", "postcondition.failed", "exception.timeout",
        "exception.handled", "wait.timeout", "exit.timeout", "log.error",
    ),
    Outcome.PENDING: (
        "http.status_202", "exception.pending", "flag.action_required", "flag.pending_true", "status_word.pending",
        "flag.handed_over", "status_word.handed_over", "record.status_word_handed_over",
        "status_word.action_required", "record.status_word_pending", "record.status_word_action_required",
        "expected.pending", "postcondition.pending",
    ),
    Outcome.EMPTY: (
        "exit.one_silent", "empty.output", "empty.frames_only", "flag.found_false", "status_word.empty",
        "record.status_word_empty", "empty.unusual", "empty.usual_miss", "db.rows_0",
    ),
    Outcome.UNKNOWN: (
        "http.status_1xx", "http.status_other", "exception.control", "exception.cancelled", "text.redacted",
        "text.object_repr", "expected.unread", "postcondition.unanswered", "result.truncated",
    ),
}  # fmt: skip


def outcome_of_rule(rule: str) -> Outcome | None:
    """The outcome that a rule always stands for, such as failure for "http.status_4xx"; None where it depends."""
    return _table().get(rule)


def outcome_of_fact(kind: str, rule: str, observed: Outcome) -> Outcome:
    """The outcome of a fact about a call that was observed to have come to `observed`.

    Where the rule does not say it, the call does: nothing found is fine or it is empty, but no failure.
    """
    said = None if kind == "declared" and not rule.startswith("expected.") else outcome_of_rule(rule)
    if said is not None:
        return said
    return observed if observed in _VOID or kind not in _VOID_KINDS else Outcome.EMPTY


def grade_of_fact(kind: str, rule: str) -> Grade | None:
    """Suspect for facts that never decide: a swallowed exception, a log line, a word in a record that was read."""
    return Grade.SUSPECT if kind in _SUSPECT_KINDS or rule.startswith("record.") else None


@cache
def _table() -> dict[str, Outcome]:
    written = {rule: outcome for outcome, rules in _OUTCOMES.items() for rule in rules}
    read = {rule.id: rule.outcome for rule in text_rules()}
    return written | read | {rule.id: Outcome.FAILURE for rule in (*tail_rules(), *line_rules())}
