"""A tool's result -> what happened: an outcome with the evidence for it.

Structure comes first and is read by value: `"errors": []`, `"failed": 0`, an expected 404 or error words inside
data are no failures. A normal return without any sign of failure is a success, though only an inferred one.
"""

from __future__ import annotations

import builtins
import logging
import re
from collections.abc import Sequence
from dataclasses import replace

from overclaim.outcome.expected import declared_evidence, without_reports
from overclaim.outcome.model import (
    NO_FACTS,
    Effect,
    Evidence,
    Grade,
    Observation,
    Outcome,
    ToolFacts,
)
from overclaim.outcome.results import payload
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.deciding import WRITES, decide
from overclaim.outcome.results.left_out import left_out
from overclaim.outcome.results.payload import parse
from overclaim.outcome.results.present import present
from overclaim.outcome.results.rules import exceptions
from overclaim.outcome.results.side_work import Work, is_worth_asking, work_of
from overclaim.outcome.results.status import exit_rule, status_evidence
from overclaim.outcome.results.texts import text_evidence
from overclaim.outcome.results.values import judge_plain, void_evidence

__all__ = [
    "decide",
    "exception_evidence",
    "exit_evidence",
    "http_evidence",
    "http_target",
    "no_answer_evidence",
    "observe",
    "parse",
]

_LOG = logging.getLogger(__name__)
_MAX_TARGET = 300
_QUERY = re.compile(r"[?#]")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_TYPE_NAME = re.compile(r"\A\s*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)\s*(?::|\(|\Z)")
_STATUS = re.compile(r"(?<![\d.])([1-5]\d\d)(?![\d.])")
_IS_ERROR = Evidence("result_flag", "flag.is_error", Outcome.FAILURE, Grade.STRUCTURED, "true")


def observe(
    result: object,
    *,
    is_error: bool | None = None,
    error_text: str | None = None,
    facts: ToolFacts = NO_FACTS,
    effect: Effect = Effect.UNKNOWN,
    extra: Sequence[Evidence] = (),
    captured: bool = True,
    tool: str = "",
    arguments: object = None,
) -> Observation:
    """What one call did, from its result and from evidence gathered elsewhere.

    Args:
        result: what the tool returned: any object, or JSON or other text.
        is_error: the framework's own error mark, None where it has none.
        error_text: the text of an exception beside an empty result.
        facts: what is declared about the tool.
        effect: what the operation does to the world.
        extra: evidence of child spans, exceptions, exit codes, in the order in which it arose.
        captured: whether the result was recorded at all.
        tool: the name of the tool, and
        arguments: its arguments, by name or as JSON text: a status that was asked for is no failure.

    Returns:
        The outcome, its grade, and the evidence, most telling first. Never raises.
    """
    context = Context(_effect(effect, facts, extra), facts, tool, arguments)
    try:
        found = _gathered(result, is_error, error_text, context, captured)
    except Exception:  # whatever the object does, the call it came from must not notice
        _LOG.debug("a result could not be read")  # no more than that: the error may quote it
        found = [_IS_ERROR] if is_error else []
    everything = [*extra, *found]
    work = _work(result if captured else None, everything, context) if is_worth_asking(extra) else Work()
    return decide(everything, captured=captured, effect=context.effect, work=work)


def http_evidence(method: str, url: str, status: int, *, facts: ToolFacts = NO_FACTS, span_id: str = "") -> Evidence:
    """What the status of one HTTP request says; its target is method and URL without query and credentials."""
    return status_evidence(status, Context(facts=facts), target=http_target(method, url), span_id=span_id)


def no_answer_evidence(method: str, url: str, why: str = "", *, span_id: str = "") -> Evidence:
    """What a request says that got no answer, or none to its end: a failure. why: the type of the error."""
    return Evidence(
        "exception", "http.no_response", Outcome.FAILURE, Grade.STRUCTURED,
        why[:80], http_target(method, url), span_id,
    )  # fmt: skip


def http_target(method: str, url: str) -> str:
    """What a request is about: the same for all attempts at it, whether they got an answer or not."""
    place = _CREDENTIALS.sub("", _QUERY.split(url, maxsplit=1)[0])[:_MAX_TARGET]
    return f"{method.upper()} {place}"


def exit_evidence(code: int, *, target: str = "", span_id: str = "", facts: ToolFacts = NO_FACTS) -> Evidence:
    """What the exit code of a process says."""
    found = exit_rule(code, False, Context(facts=facts))
    return replace(found, target=target[:_MAX_TARGET], span_id=span_id)


def exception_evidence(type_name: str, *, span_id: str = "") -> Evidence:
    """What an exception that left the tool says, by the name of its type.

    An exception that hands the work to somebody (an interrupt for approval) is pending; one that only steers
    the program (StopIteration) says nothing, and nobody knows how far a call came that was cancelled.
    """
    name = type_name.rsplit(".", 1)[-1][:80]
    if name in exceptions("pending"):
        return Evidence("exception", "exception.pending", Outcome.PENDING, Grade.STRUCTURED, name, span_id=span_id)
    if name in exceptions("control"):
        return Evidence("exception", "exception.control", Outcome.UNKNOWN, Grade.STRUCTURED, name, span_id=span_id)
    if name in exceptions("cancelled"):
        return Evidence("exception", "exception.cancelled", Outcome.UNKNOWN, Grade.STRUCTURED, name, span_id=span_id)
    rule = "exception.timeout" if name in exceptions("timeout") else "exception.raised"
    return Evidence("exception", rule, Outcome.FAILURE, Grade.STRUCTURED, name, span_id=span_id)


def _effect(effect: Effect, facts: ToolFacts, extra: Sequence[Evidence]) -> Effect:
    """The effect as declared, as given, or as the requests of child spans show it."""
    if facts.read_only is not None:
        return facts.effect
    if extra and effect is Effect.UNKNOWN and any(one.target.startswith(WRITES) for one in extra):
        return Effect.WRITE
    return effect


def _work(result: object, found: list[Evidence], context: Context) -> Work:
    """What the tool is there for; nothing where that cannot be read."""
    try:
        return work_of(context.tool, result, found) if context.tool else Work()
    except Exception:  # as above: the object may do what it likes
        _LOG.debug("a result could not be read")
        return Work()


def _gathered(
    result: object, is_error: bool | None, error_text: str | None, context: Context, captured: bool
) -> list[Evidence]:
    """The evidence in the result, in the exception beside it, and in the framework's mark."""
    found = _result_evidence(result, context) if captured else []
    if is_error is not False and error_text:
        found = [*_error_evidence(error_text, context), *found]
    found = _marked(found, result, error_text, context) if is_error else found
    return [*found, *_declared(result, context)] if captured and context.facts.conditional else found


def _declared(result: object, context: Context) -> list[Evidence]:
    """What declared conditions make of the result; an exception is none."""
    if issubclass(type(result), BaseException):
        return []
    return declared_evidence(result, context.facts, context.arguments)


def _result_evidence(result: object, context: Context) -> list[Evidence]:
    """The evidence in the result itself."""
    if issubclass(type(result), BaseException):
        return [exception_evidence(type(result).__name__)]
    value = payload.plain(result)
    found = void_evidence(value, context) if payload.is_void(value) else judge_plain(value, context)
    found = present(found, value, context) if found and context.tool else found
    found = without_reports(found) if context.facts.reports_problems else found
    return [*found, *left_out(value)]


def _error_evidence(text: str, context: Context) -> list[Evidence]:
    """An exception's text: a failure, unless it only says that nothing matched or what was expected."""
    quiet = _explained(text_evidence(text[:4000], context))
    if quiet:
        return quiet
    if _expects(text, context):
        return [status_evidence(next(iter(_expects(text, context))), context)]
    match = _TYPE_NAME.match(text[:200])
    name = match[1].rsplit(".", 1)[-1] if match else ""
    return [Evidence("exception", "exception.text", Outcome.FAILURE, Grade.STRUCTURED, name if _known(name) else "")]


def _known(name: str) -> bool:
    """Whether it is the name of an exception that everybody has; any other may be a piece of what was said."""
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _marked(found: list[Evidence], result: object, error_text: str | None, context: Context) -> list[Evidence]:
    """The framework's error mark added, unless the result itself explains it: no match, or an expected status."""
    if _explained(found) or any(one.rule == "http.expected" for one in found):
        return found
    text = error_text or (result if isinstance(result, str) else "")
    if expected := _expects(text[:4000], context):
        return [status_evidence(next(iter(expected)), context)]
    return [_IS_ERROR, *found]


def _explained(found: list[Evidence]) -> list[Evidence]:
    """Evidence that says in so many words that nothing matched, where nothing says worse; a bare void is no word."""
    worse = any(one.outcome in (Outcome.FAILURE, Outcome.PENDING) for one in found)
    said = [one for one in found if one.outcome is Outcome.EMPTY and one.kind in ("result_text", "exit_code")]
    return [] if worse else [replace(one, grade=Grade.STRUCTURED) for one in said]


def _expects(text: str, context: Context) -> set[int]:
    """Expected statuses that a text names."""
    if not context.facts.expected_status:
        return set()
    return {int(number) for number in _STATUS.findall(text)} & context.facts.expected_status
