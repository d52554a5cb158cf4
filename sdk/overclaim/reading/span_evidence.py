"""What the spans below a tool call say about it: HTTP, databases, processes, messages, remote services.

Per target the last word wins, so a failed attempt that was repeated well is no evidence of failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from overclaim import _attributes as names
from overclaim._json import text, whole
from overclaim.evidence.http import bare_url
from overclaim.outcome.model import NO_FACTS, Evidence, Grade, Outcome, ToolFacts
from overclaim.outcome.results.observing import (
    exception_evidence,
    exit_evidence,
    http_evidence,
    http_target,
    no_answer_evidence,
)
from overclaim.reading.dialects import Role, first
from overclaim.reading.span_tree import Tree
from overclaim.reading.spans import Event, Span, kind_name

_REFUSED = 400
_IN_LOG = "(log)"
_MOST_NOTED = 4  # of one kind, as the SDK notes
_METHOD = ("http.request.method", "http.method")
_URL = ("url.full", "http.url", "url.path", "http.target", "http.route")
_STATUS = ("http.response.status_code", "http.status_code")
_STATEMENT = "db.ok"
_SYSTEM = ("db.system.name", "db.system")
_DATABASE = ("db.system.name", "db.system", "rpc.system", "messaging.system")
_WHAT = ("db.collection.name", "db.sql.table", "db.namespace", "rpc.method", "messaging.destination.name")
_PROCESS = ("process.executable.name", "process.executable.path", "process.command")


def below(tree: Tree, members: Iterable[Span]) -> list[Span]:
    """Return the spans under a call (given by the spans that stand for it), without other calls, by end time."""
    own = {span.span_id for span in members}
    waiting = [child for id in own for child in tree.children.get(id, ())]
    found: dict[str, Span] = {}
    while waiting:
        span = waiting.pop()
        if span.span_id in own or span.span_id in found or tree.role(span) is Role.TOOL:
            continue
        found[span.span_id] = span
        waiting += tree.children.get(span.span_id, ())
    return sorted(found.values(), key=lambda span: (span.end_ns, span.start_ns, span.span_id))


def evidence_below(tree: Tree, spans: Iterable[Span], facts: ToolFacts = NO_FACTS) -> list[Evidence]:
    """Return the last word per target of the spans under a call, which come by end time.

    facts: what is declared about the tool.
    """
    last: dict[tuple[str, bool], Evidence | None] = {}
    for span in spans:
        if tree.role(span) in (Role.AGENT, Role.MODEL, Role.CLAIM):
            continue
        target, found = _read(span, facts)
        if found is not None and found.outcome is not Outcome.SUCCESS and _handled(tree, span):
            found = replace(found, grade=Grade.SUSPECT)
        last.pop((target, span.serves), None)  # so that it moves to its place in time
        last[target, span.serves] = found
    return _with_statements([found for found in last.values() if found is not None])


def _with_statements(found: list[Evidence]) -> list[Evidence]:
    """Evidence with the statements that went well only where another did not, for which they may make up."""
    failed = any(one.outcome is Outcome.FAILURE and not one.rule.startswith("http.") for one in found)
    return found if failed else [one for one in found if one.rule != _STATEMENT]


def error_type(span: Span) -> str:
    """Return the class of the error a span ended in, "" where it names none."""
    named = text(span.attributes.get(names.ERROR_TYPE))
    return named or (span.exception[0] if span.exception else "")


def error_shown(span: Span) -> str:
    """Return the same as evidence shows it, which says where only a log record names it."""
    return _shown(error_type(span)[:64], _is_logged(span))


def exception_shown(span: Span) -> Evidence:
    """Return the evidence of the exception that a span ended in."""
    found = exception_evidence(error_type(span), span_id=span.span_id)
    return replace(found, value=_shown(found.value, _is_logged(span)))


def _is_logged(span: Span) -> bool:
    event = span.exception_event
    return event is not None and event.logged and not text(span.attributes.get(names.ERROR_TYPE))


def _shown(name: str, logged: bool) -> str:
    return f"{name} {_IN_LOG}".lstrip() if logged else name


def noted(tree: Tree, spans: Iterable[Span]) -> list[Evidence]:
    """Return the suspicions that log records of these spans tell of, by span and then by time: a few of each kind."""
    parts = (span for span in spans if span.noted and tree.role(span) not in (Role.AGENT, Role.MODEL, Role.CLAIM))
    found = dict.fromkeys(_suspicion(event, span.span_id) for span in parts for event in span.noted)
    if not found:
        return []
    kept = ([one for one in found if one.kind == kind][:_MOST_NOTED] for kind in ("swallowed_exception", "log_record"))
    return [one for some in kept for one in some]


def _suspicion(event: Event, span_id: str) -> Evidence:
    failure, suspect = Outcome.FAILURE, Grade.SUSPECT
    if event.name == "exception":
        name = text(event.attributes.get("exception.type")).rsplit(".", 1)[-1][:64]
        return Evidence("swallowed_exception", "exception.handled", failure, suspect, _shown(name, True), "", span_id)
    value = " ".join(filter(None, (text(event.attributes.get(key)) for key in ("logger", "level"))))
    return Evidence("log_record", "log.error", failure, suspect, value, "", span_id)


def _read(span: Span, facts: ToolFacts = NO_FACTS) -> tuple[str, Evidence | None]:
    """Return what a span acted on, and what it says about the outcome; None: nothing, or that all went well."""
    attributes = span.attributes
    code = whole(attributes.get("process.exit.code"))
    if code is not None:
        target = text(first(attributes, _PROCESS)) or span.name
        return target, exit_evidence(code, target=target, span_id=span.span_id, facts=facts)
    method, url = text(first(attributes, _METHOD)), text(first(attributes, _URL))
    status = whole(first(attributes, _STATUS))
    if method and status and not (span.failed and status < _REFUSED):
        found = http_evidence(method, bare_url(url), status, facts=facts, span_id=span.span_id)
        return found.target, found
    if method and span.failed and kind_name(span.kind) == "Client":
        found = no_answer_evidence(method, bare_url(url), error_shown(span), span_id=span.span_id)
        return found.target, found
    target = http_target(method, bare_url(url)) if method else _target(span)
    if span.failed:
        return target, _failure(span, target)
    system = text(first(attributes, _SYSTEM))
    done = Evidence("span_status", _STATEMENT, Outcome.SUCCESS, Grade.INFERRED, system, target, span.span_id)
    return target, done if system else None


def _target(span: Span) -> str:
    attributes = span.attributes
    parts = (text(first(attributes, _DATABASE)), span.name, text(first(attributes, _WHAT)))
    return " ".join(filter(None, parts))


def _failure(span: Span, target: str) -> Evidence:
    """A failed span inside the process may have been caught by the tool, so it is only a suspicion."""
    crosses = kind_name(span.kind) in ("Client", "Server", "Producer", "Consumer")
    kind, rule = ("span_status", "span.status_error") if crosses else ("swallowed_exception", "span.inner_error")
    grade = Grade.STRUCTURED if crosses else Grade.SUSPECT
    return Evidence(kind, rule, Outcome.FAILURE, grade, error_shown(span), target, span.span_id)


def _handled(tree: Tree, span: Span) -> bool:
    """Whether a remote service had this failure inside a request that it then answered well."""
    if kind_name(span.kind) == "Consumer":
        return False
    return any(answer.end_ns >= span.end_ns for answer in _answered_well(tree, span))


def _answered_well(tree: Tree, span: Span) -> Iterator[Span]:
    for outer in tree.above(span):
        if tree.role(outer) is Role.TOOL:
            return
        found = _read(outer)[1]
        fine = not outer.failed and (found is None or found.outcome is Outcome.SUCCESS)
        if fine and kind_name(outer.kind) == "Server":
            yield outer
