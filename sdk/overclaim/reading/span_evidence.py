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
from overclaim.outcome.results.observing import exit_evidence, http_evidence, http_target, no_answer_evidence
from overclaim.reading.dialects import Role, first
from overclaim.reading.span_tree import Tree
from overclaim.reading.spans import Span, kind_name

_REFUSED = 400
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
        found = no_answer_evidence(method, bare_url(url), error_type(span), span_id=span.span_id)
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
    return Evidence(kind, rule, Outcome.FAILURE, grade, error_type(span)[:64], target, span.span_id)


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
