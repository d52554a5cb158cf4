"""What log records say about spans: exceptions, errors, and the messages between model, tools and user.

A span with what its log records say is read like any other. An exception by which the operation of the span ended
counts as an `exception` event on a span with status Error does, and once where both were sent; any other one, and
records of severity ERROR and above, are suspicions. Messages stand in where the span itself has none.

An operation ended by an exception whose event is named for it (`http.client.request.exception`) and has severity ERROR
or above: below that somebody may have handled it, as a retry does. The conventions give the event of tools severity
WARN, so for `gen_ai.execute_tool.exception` that is enough. No record overrules a span that says it went well: by its
status, the status of a response, an exit code or a result.
https://opentelemetry.io/docs/specs/semconv/exceptions/exceptions-logs/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from overclaim import _attributes as names
from overclaim._json import items, loads, mapping, text, whole
from overclaim.outcome.model import Outcome
from overclaim.outcome.results.observing import observe
from overclaim.reading.chat_messages import is_withheld
from overclaim.reading.dialects import (
    ARGUMENTS,
    CALL_ID,
    REQUEST,
    RESULT,
    Role,
    answer_of,
    arguments_of,
    first,
    has,
    result_of,
    role_of,
    tool_name,
)
from overclaim.reading.spans import Event, Span, kind_name, status_name

# Names of events.
DETAILS = "gen_ai.client.inference.operation.details"
CHOICE = "gen_ai.choice"
ASSISTANT = "gen_ai.assistant.message"
USER = "gen_ai.user.message"
TOOL = "gen_ai.tool.message"
_ASKING = (DETAILS, CHOICE, ASSISTANT)
_GENERIC = "exception"
_OF_TOOLS = "gen_ai.execute_tool.exception"
_OF_CLIENTS = "gen_ai.client.operation.exception"
# An attribute.
INPUT_MESSAGES = "gen_ai.input.messages"
# The lowest severity numbers of these levels.
_WARN, _ERROR, _FATAL = 13, 17, 21
_SIDES = {"client": "Client", "server": "Server"}  # words in the names of events, and the kinds of their spans
_STATUS = ("http.response.status_code", "http.status_code")
_REFUSED = 400
# Attributes by which a span says that it went well, and how (lower case).
_WELL = (
    ("process.exit.code", frozenset({"0"})),
    ("rpc.response.status_code", frozenset({"0", "ok"})),
    ("rpc.grpc.status_code", frozenset({"0", "ok"})),
    ("db.response.status_code", frozenset({"0", "00000", "ok"})),
    ("gen_ai.task.status", frozenset({"success"})),
    ("gen_ai.tool.status", frozenset({"success", "ok"})),
)
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log record of a span. Ids are lower-case hex, the time nanoseconds since 1970.

    name: of the event, "" for a plain record. severity: its number, 0 where unknown, and level: its text.
    logger: the name of its scope.
    """

    span_id: str
    name: str = ""
    time_ns: int = 0
    severity: int = 0
    level: str = ""
    logger: str = ""
    body: object = None
    attributes: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def exception(self) -> str:
        """The type of the exception that it tells of, "" where it names none."""
        return text(self.attributes.get("exception.type"))


def with_logs(spans: Iterable[Span], records: Iterable[LogRecord]) -> list[Span]:
    """The spans of a trace with what its log records say, whatever the order of these and however often each came."""
    ordered = sorted(records, key=lambda record: (record.time_ns, repr(record)))
    of_span: dict[str, list[LogRecord]] = {}
    for record in ordered:
        of_span.setdefault(record.span_id, []).append(record)
    results, arguments = _results(ordered), _arguments(ordered)
    told = (_with_content(span, results, arguments, of_span.get(span.span_id, ())) for span in spans)
    return [_with_records(span, of_span[span.span_id]) if span.span_id in of_span else span for span in told]


def _results(records: Iterable[LogRecord]) -> dict[str, object]:
    """What tools returned to the model, by the id of the call; the first word counts, the rest repeats it."""
    found: dict[str, object] = {}
    for record in (one for one in records if one.name == TOOL):
        id = text(mapping(loads(record.body)).get("id")) or text(record.attributes.get(names.GEN_AI_TOOL_CALL_ID))
        if id and (content := _content(record)) is not None:
            found.setdefault(id, content)
    return found


def _content(record: LogRecord) -> object:
    """The result in an event or a part of a message."""
    return first(mapping(loads(record.body)), ("content", "response", "result"))


def _arguments(records: Iterable[LogRecord]) -> dict[str, object]:
    """With which arguments models asked for tools, by the id of the call."""
    found: dict[str, object] = {}
    for record in (one for one in records if one.name in _ASKING):
        for call in _calls(record):
            asked = mapping(call.get("function")) or call
            if (id := text(call.get("id"))) and asked.get("arguments"):
                found.setdefault(id, asked["arguments"])
    return found


def _calls(record: LogRecord) -> Iterator[dict[str, object]]:
    """The calls that an output asks for: those beside the message, or parts of it."""
    body = mapping(loads(record.body))
    yield from map(mapping, items((mapping(body.get("message")) or body).get("tool_calls")))
    for message in map(mapping, items(loads(record.attributes.get(names.GEN_AI_OUTPUT_MESSAGES)))):
        yield from (part for part in map(mapping, items(message.get("parts"))) if part.get("type") == "tool_call")


def _with_content(
    span: Span, results: Mapping[str, object], arguments: Mapping[str, object], records: Sequence[LogRecord]
) -> Span:
    """A tool span with what only events have of its arguments and its result: by the id of its call, or on the span."""
    if not (results or arguments or records) or role_of(span) is not Role.TOOL:
        return span
    id, found = text(first(span.attributes, CALL_ID)), dict[str, object]()
    if id in arguments and not has(span.attributes, ARGUMENTS):
        found[names.GEN_AI_TOOL_ARGUMENTS] = arguments[id]
    own = (_content(one) for one in records if one.name == TOOL)
    result = next((one for one in own if one is not None), results.get(id))
    if result is not None and not has(span.attributes, RESULT):
        found[names.GEN_AI_TOOL_RESULT] = result
    return _with(span, found) if found else span


def _with_records(span: Span, records: Sequence[LogRecord]) -> Span:
    return _with_troubles(_with_messages(span, records), [one for one in records if _is_trouble(one)])


def _with(span: Span, more: Mapping[str, object]) -> Span:
    return replace(span, attributes={**span.attributes, **more})


def _with_messages(span: Span, records: Sequence[LogRecord]) -> Span:
    """A span of an agent or a model with the messages that only events have."""
    role = role_of(span)
    found: dict[str, object] = {}
    if role not in (Role.AGENT, Role.MODEL):
        return span
    if not answer_of(span.attributes) and (said := _said(records)):
        found[names.GEN_AI_OUTPUT_MESSAGES] = said
    if role is Role.AGENT and first(span.attributes, REQUEST) is None and (asked := _asked(records)):
        found[INPUT_MESSAGES] = asked
    return _with(span, found) if found else span


def _said(records: Sequence[LogRecord]) -> object:
    """The last output; of the messages of older conventions that of the assistant, if nobody spoke after it."""
    details = [one.attributes.get(names.GEN_AI_OUTPUT_MESSAGES) for one in records if one.name == DETAILS]
    if said := next(filter(None, reversed(details)), None):
        return said
    choices = [one for one in records if one.name == CHOICE]
    spoken = choices or [one for one in records if one.name in (ASSISTANT, USER, TOOL)]
    return _message(spoken[-1]) if spoken and spoken[-1].name in (CHOICE, ASSISTANT) else None


def _message(record: LogRecord) -> object:
    """The message of an event, which may stand inside what tells of its end; None where its content was withheld."""
    body = mapping(loads(record.body))
    return mapping(body.get("message")) or ({"content": body["content"]} if body.get("content") else None)


def _asked(records: Sequence[LogRecord]) -> object:
    details = [one.attributes.get(INPUT_MESSAGES) for one in records if one.name == DETAILS]
    if asked := next(filter(None, reversed(details)), None):
        return asked
    users = [{"role": "user", **mapping(loads(one.body))} for one in records if one.name == USER]
    return json.dumps(users) if users else None


def _is_trouble(record: LogRecord) -> bool:
    return bool(record.exception) or record.severity >= _ERROR or record.name.endswith(_GENERIC)


def _with_troubles(span: Span, records: Sequence[LogRecord]) -> Span:
    """A span with the exceptions in its log records as events, and what else is in them as suspicions."""
    named = [one for one in records if one.name == _GENERIC or one.name.endswith(f".{_GENERIC}")]
    ended = [one for one in named if _ends(span, one)]
    if ended or span.failed:
        others = [one for one in named if one not in ended]
        # The last event names the error: the span's own does so before any log record, and of these what ended it.
        span = replace(span, status="Error", events=[*map(_event, [*others, *ended]), *span.events])
    return replace(span, noted=[_event(one) for one in records if one not in ended and not _is_told(span, one)])


def _is_told(span: Span, record: LogRecord) -> bool:
    """Whether the exception is the one by which the span failed."""
    told = (event.attributes.get("exception.type") for event in span.events if span.failed)
    return bool(record.exception) and _short(record.exception) in (_short(text(one)) for one in told)


def _ends(span: Span, record: LogRecord) -> bool:
    """Whether an exception says that what the span stands for failed by it, and the span does not say otherwise."""
    severe = record.severity >= (_WARN if record.name == _OF_TOOLS else _ERROR)
    return severe and _is_of(span, record.name) and not _went_well(span)


def _is_of(span: Span, name: str) -> bool:
    """Whether the event of an exception is named for what the span stands for."""
    kind = kind_name(span.kind)
    if role_of(span) is Role.TOOL:
        return name == _OF_TOOLS or (name == _OF_CLIENTS and kind == "Client")
    space, *words = name.split(".")
    if name in (_GENERIC, _OF_TOOLS) or any(_SIDES.get(word, kind) != kind for word in words):
        return False
    return any(key.startswith(f"{space}.") for key in span.attributes)


def _went_well(span: Span) -> bool:
    """Whether the span itself says that it did."""
    status = whole(first(span.attributes, _STATUS))
    answered = status is not None and 0 < status < _REFUSED
    said = any(str(span.attributes.get(key)).lower() in values for key, values in _WELL)
    return status_name(span.status) == "Ok" or answered or said or _returned_well(span)


def _returned_well(span: Span) -> bool:
    """Whether the span has a result, and this is no failure."""
    result, is_error = result_of(span.attributes)
    if result is None or is_error or is_withheld(result):
        return False
    observed = observe(result, tool=tool_name(span), arguments=arguments_of(span.attributes))
    return observed.outcome is not Outcome.FAILURE


def _event(record: LogRecord) -> Event:
    """A record as an event that says where it came from. Of a logger that is no module nothing is kept."""
    level = _identifier(record.level) or ("FATAL" if record.severity >= _FATAL else "ERROR")
    name = _GENERIC if record.exception or record.name.endswith(_GENERIC) else "log"
    more = {"logger": _identifier(record.logger), "level": level}
    return Event(name, record.time_ns, {**record.attributes, **more}, logged=True)


def _identifier(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME and _MODULE.fullmatch(name) else ""


def _short(name: str) -> str:
    return name.rsplit(".", 1)[-1]
