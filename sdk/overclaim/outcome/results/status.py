"""Exit codes and HTTP statuses -> evidence."""

from __future__ import annotations

from overclaim.outcome.model import Effect, Evidence, Grade, Outcome
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.rules import tool_words
from overclaim.outcome.words import split_name

_SIGNALS = frozenset((-9, -15, -2, 137, 143, 130))  # how a process ends that was killed, terminated or interrupted
_FAMILIES = {2: Outcome.SUCCESS, 3: Outcome.SUCCESS, 4: Outcome.FAILURE, 5: Outcome.FAILURE}


def exit_rule(code: int, silent: bool, context: Context) -> Evidence:
    """An exit code. 1 without a word of output is how a look (grep, diff, test) says "nothing there"."""
    if code in context.facts.expected_exit:
        return Evidence("exit_code", "exit.expected", Outcome.SUCCESS, Grade.STRUCTURED, str(code))
    if code == 1 and context.facts.reports_problems:
        return Evidence("exit_code", "expected.report", Outcome.SUCCESS, Grade.STRUCTURED, "1")
    if code == 0:
        return Evidence("exit_code", "exit.zero", Outcome.SUCCESS, Grade.STRUCTURED, "0")
    if code in _SIGNALS and not tool_words("killing").isdisjoint(split_name(context.tool)):
        return Evidence("exit_code", "exit.as_asked", Outcome.SUCCESS, Grade.STRUCTURED, str(code))
    if code == 1 and silent and context.effect is Effect.READ:
        return Evidence("exit_code", "exit.one_silent", Outcome.EMPTY, Grade.STRUCTURED, "1")
    return Evidence("exit_code", "exit.nonzero", Outcome.FAILURE, Grade.STRUCTURED, str(code))


def status_evidence(status: int, context: Context, *, target: str = "", span_id: str = "") -> Evidence:
    """An HTTP status, unless the tool's facts expect it."""
    grade, value = Grade.STRUCTURED, str(status)
    if status in context.facts.expected_status:
        return Evidence("http_status", "http.expected", Outcome.SUCCESS, grade, value, target, span_id)
    if status == 202:
        return Evidence("http_status", "http.status_202", Outcome.PENDING, grade, value, target, span_id)
    family = status // 100
    outcome = _FAMILIES.get(family, Outcome.UNKNOWN)
    rule = f"http.status_{family}xx" if 1 <= family <= 5 else "http.status_other"
    return Evidence("http_status", rule, outcome, grade, value, target, span_id)
