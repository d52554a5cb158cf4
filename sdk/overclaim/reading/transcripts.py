"""Chat transcripts to runs that can be judged.

One run is an object with `messages` (and perhaps `id`, `tools`, `child_spans`, `trace`) or a bare list of messages.
Everything else in it, such as labels or rewards, is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ValidationError

from overclaim._json import items, mapping, text
from overclaim.outcome.binding.binder import bind
from overclaim.outcome.binding.voice import wanted
from overclaim.outcome.claims.asked_states import as_asked
from overclaim.outcome.claims.reading import read as read_claims
from overclaim.outcome.expected import said
from overclaim.outcome.model import (
    NO_FACTS,
    Call,
    Evidence,
    Grade,
    Observation,
    Outcome,
    Run,
    ToolFacts,
)
from overclaim.outcome.operations import mentions, operation
from overclaim.outcome.pending import settled
from overclaim.outcome.results.observing import (
    exception_evidence,
    exit_evidence,
    http_evidence,
    no_answer_evidence,
    observe,
)
from overclaim.outcome.results.texts import Context
from overclaim.outcome.tool_rules import NO_RULES, ToolRules
from overclaim.outcome.unread import Late, Unread
from overclaim.reading.chat_messages import Conversation, Result, ToolCall, read_messages
from overclaim.reading.input_files import Document, Problem

_HELP = 'a run is {"messages": [...]} in OpenAI chat form, or an OTLP export with "resourceSpans"'


class ToolEntry(BaseModel):
    """What is declared about one tool."""

    read_only: bool | None = None
    expected_status: list[int] = []
    empty_ok: bool | None = None


class ChildSpan(BaseModel):
    """A span that was seen under a tool call; status is an HTTP or RPC status code."""

    tool_call_id: str = ""
    kind: str = ""
    method: str = ""
    url: str = ""
    status: int | None = None
    exit_code: int | None = None
    error_type: str | None = None


class SpanCounts(BaseModel):
    """How many spans the run says it made, and how many arrived."""

    spans_declared: int | None = None
    spans_received: int | None = None


def _object_or_none(value: object) -> object:
    return mapping(value) or None  # other formats keep an id under this name


def _text_or_none(value: object) -> object:
    return value if isinstance(value, str) else None  # other formats describe the whole agent under this name


class ChatRun(BaseModel):
    """One run of a transcript file. Unknown fields are ignored."""

    id: str | int | None = None
    messages: list[object]
    tools: dict[str, object] | list[object] | None = None
    child_spans: list[ChildSpan] = []
    trace: Annotated[SpanCounts | None, BeforeValidator(_object_or_none)] = None
    agent: Annotated[str | None, BeforeValidator(_text_or_none)] = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A run as read: how many of its calls (the first ones) have a result, and where it stood."""

    run: Run
    answered: int
    file: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class _Tool:
    facts: ToolFacts = NO_FACTS
    description: str = ""


_NO_TOOL = _Tool()


def read_document(document: Document, rules: ToolRules = NO_RULES) -> Iterator[Transcript | Problem]:
    """Yield the runs of a document that is no OTLP export, each with a problem where it cannot be used.

    rules: what is expected of tools, where the run itself declares nothing better.
    """
    for place, value in _runs_in(document):
        yield from _read_run(document.file, place, value, rules)


def _runs_in(document: Document) -> Iterator[tuple[str, object]]:
    listed = items(document.value)
    first = next((found for item in listed if (found := mapping(item))), dict[str, object]())
    if not isinstance(document.value, list):
        yield document.place or "run 1", document.value
    elif "role" in first and "messages" not in first:
        yield document.place or "run 1", {"messages": listed}
    else:
        yield from ((f"{document.place} run {n}".strip(), value) for n, value in enumerate(listed, 1))


def _read_run(file: str, place: str, value: object, rules: ToolRules) -> Iterator[Transcript | Problem]:
    raw = mapping(value)
    if raw.get("messages") is None:
        yield Problem(file, place, _why_no_run(value), _HELP)
        return
    try:
        chat = ChatRun.model_validate(raw)
        conversation = read_messages(chat.messages)
        run = _run(chat, conversation, f"{file}: {place}", rules)
    except ValidationError as error:
        yield _invalid(file, place, error)
        return
    yield from _notes(file, place, chat, conversation)
    yield Transcript(run, conversation.answered, file, place)


def _why_no_run(value: object) -> str:
    raw = mapping(value)
    if "role" in raw:
        return "is one message, not a run"
    if "resource_spans" in raw:
        return 'has "resource_spans", but OTLP/JSON is written in lowerCamelCase'
    return 'has no "messages"' if raw or value == {} else f"is {type(value).__name__}, not an object"


def _invalid(file: str, place: str, error: ValidationError) -> Problem:
    first = error.errors(include_url=False, include_input=True)[0]
    where = ".".join(str(step) for step in first["loc"])
    cause = f"field {where}: {first['msg'].lower()}, got {first['input']!r:.60}"
    return Problem(file, place, cause, "mend or remove the field")


def _notes(file: str, place: str, chat: ChatRun, conversation: Conversation) -> Iterator[Problem]:
    if not chat.messages:
        yield Problem(file, place, "has no messages", "record the conversation; it cannot be judged", fatal=False)
    if skipped := conversation.skipped:
        more = f" and {len(skipped) - 1} more" if len(skipped) > 1 else ""
        cure = "roles are system, user, assistant and tool; the message was left out"
        yield Problem(file, place, skipped[0] + more, cure, fatal=False)
    known = {call.id for call in conversation.calls}
    if lost := next((s.tool_call_id for s in chat.child_spans if s.tool_call_id not in known), None):
        cause = f"child_spans names tool_call_id {lost!r:.60}, which no call has"
        yield Problem(file, place, cause, "give the id of a call; the span was left out", fatal=False)


def _run(chat: ChatRun, conversation: Conversation, default_id: str, rules: ToolRules) -> Run:
    tools = _tools(chat.tools)
    spans = _spans_by_call(chat.child_spans, conversation.calls)
    wants = Late(lambda: wanted(conversation.asked))
    reading = as_asked(read_claims(conversation.texts), wants)
    seen = [
        _call(index, call, _expected(call.tool, tools, rules), spans.get(id(call), ()))
        for index, call in enumerate(conversation.calls)
    ]
    # Reading what a call mentions costs as much as judging it: only where something is compared with it.
    compared = bool(reading.claims) or any(call.observed.outcome is Outcome.PENDING for call in seen)
    calls = settled(map(_with_mentions, seen, conversation.calls) if compared else seen)
    lost = _lost_spans(chat.trace)
    gaps = [
        *(["no_messages"] if not chat.messages else ["no_final_message"] if not conversation.finished else []),
        *(["spans_missing"] if lost else []),
    ]
    unanswered = ["result_missing"] if conversation.answered < len(calls) else []
    return Run(
        id=default_id if chat.id is None else str(chat.id),
        calls=calls,
        claims=bind(reading, calls, asked=Unread(*conversation.asked), wants=wants),
        claimed=reading.outcome,
        # Without a single call, or a tool that could have been called, nobody can say that calls would show here.
        captured=bool(calls or tools),
        complete=not gaps,
        agent=chat.agent or "",
        gaps=(*gaps, *unanswered),
    )


def _expected(name: str, tools: Mapping[str, _Tool], rules: ToolRules) -> _Tool:
    """What the run declares of a tool, filled up from what is expected of it."""
    declared = tools.get(name, _NO_TOOL)
    return replace(declared, facts=rules.facts(name, declared.facts)) if rules else declared


def _lost_spans(counts: SpanCounts | None) -> bool:
    if counts is None or counts.spans_declared is None or counts.spans_received is None:
        return False
    return counts.spans_received < counts.spans_declared


def _call(index: int, call: ToolCall, tool: _Tool, spans: Sequence[ChildSpan]) -> Call:
    arguments = _arguments(call.arguments)
    what = operation(call.tool, arguments, facts=tool.facts, description=tool.description)
    children = [found for span in spans for found in _child_evidence(span, tool.facts)]
    result = call.result
    context = Context(what.effect, tool.facts, call.tool, arguments)
    seen = _observe(result or Result(captured=False), context, children)
    return Call(
        index=index,
        tool=call.tool,
        operation=what,
        observed=seen,
        claimed=_claimed(_told(result, context, seen, children)) if result else Outcome.UNKNOWN,
        id=call.id or None,
    )


def _with_mentions(seen: Call, call: ToolCall) -> Call:
    content = call.result.content if call.result else None
    return replace(seen, mentions=mentions(_arguments(call.arguments), content))


def _told(result: Result, context: Context, seen: Observation, children: Sequence[Evidence]) -> Outcome:
    """What the result alone told the agent."""
    if (read := said(seen)) is not None:
        return read
    if not children and not context.facts.conditional:
        return seen.outcome
    unconditional = replace(context.facts, success_when=None, failure_when=None, pending_when=None)
    return _observe(result, replace(context, facts=unconditional), []).outcome


def _claimed(told: Outcome) -> Outcome:
    return told if told in (Outcome.FAILURE, Outcome.PENDING) else Outcome.SUCCESS


def _observe(result: Result, context: Context, extra: Sequence[Evidence]) -> Observation:
    code = [exit_evidence(result.exit_code, facts=context.facts)] if result.exit_code is not None else []
    return observe(
        result.content,
        is_error=result.is_error,
        error_text=result.error_text,
        facts=context.facts,
        effect=context.effect,
        extra=[*extra, *code],
        captured=result.captured,
        tool=context.tool,
        arguments=context.arguments,
    )


def _arguments(value: object) -> Mapping[str, object] | str | None:
    if value is None or isinstance(value, str):
        return value
    return mapping(value) or json.dumps(value, default=str)


def _tools(declared: dict[str, object] | list[object] | None) -> dict[str, _Tool]:
    """Read facts by tool name, or the tool definitions that an agent sends to its model."""
    if isinstance(declared, dict):
        return {name: _Tool(_facts(ToolEntry.model_validate(mapping(entry)))) for name, entry in declared.items()}
    tools: dict[str, _Tool] = {}
    for entry in map(mapping, declared or []):
        function = mapping(entry.get("function")) or entry
        read_only = mapping(entry.get("annotations")).get("readOnlyHint")
        facts = ToolFacts(read_only=read_only) if isinstance(read_only, bool) else NO_FACTS
        tools[text(function.get("name"))] = _Tool(facts, text(function.get("description")))
    return tools


def _facts(entry: ToolEntry) -> ToolFacts:
    return ToolFacts(entry.read_only, frozenset(entry.expected_status), entry.empty_ok)


def _spans_by_call(spans: Sequence[ChildSpan], calls: Sequence[ToolCall]) -> dict[int, list[ChildSpan]]:
    by_id = {call.id: call for call in calls}
    found: dict[int, list[ChildSpan]] = {}
    for span in spans:
        if call := by_id.get(span.tool_call_id):
            found.setdefault(id(call), []).append(span)
    return found


def _child_evidence(span: ChildSpan, facts: ToolFacts) -> list[Evidence]:
    target = f"{span.method} {span.url}".strip()
    if span.exit_code is not None:
        return [exit_evidence(span.exit_code, target=target, facts=facts)]
    if span.kind == "http" and span.status is not None:
        return [http_evidence(span.method, span.url, span.status, facts=facts)]
    if span.kind == "http" and span.error_type and span.method:
        return [no_answer_evidence(span.method, span.url, span.error_type)]
    if span.error_type:
        return [replace(exception_evidence(span.error_type), target=target)]
    if span.kind == "rpc" and span.status:
        value = str(span.status)
        return [Evidence("span_status", "rpc.status_code", Outcome.FAILURE, Grade.STRUCTURED, value, target)]
    return []
