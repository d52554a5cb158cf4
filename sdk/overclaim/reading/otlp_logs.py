"""Log records from OTLP/JSON documents with `resourceLogs`: those that tell something of the spans of a trace.

What counts is what the collector reads of its table of log records: exceptions and errors, each kind once a span
however often it was logged, and the messages between model, tools and user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from overclaim import _attributes as names
from overclaim._json import items, loads, mapping, text, whole
from overclaim.reading.log_records import ASSISTANT, CHOICE, DETAILS, INPUT_MESSAGES, TOOL, USER, LogRecord
from overclaim.reading.otlp_values import attributes_from_json, from_json
from overclaim.reading.spans import Span

EACH: Final = 16  # kinds of trouble that one span may tell of
# Records are of the time of their spans, but for a while in which a process shuts down or another one reads its files.
_SLACK_NS: Final = 3_600_000_000_000
_MESSAGES: Final = frozenset({DETAILS, CHOICE, ASSISTANT, USER, TOOL})
_OUR_OWN: Final = "gen_ai.evaluation.result"  # verdicts on agents
_ERROR: Final = 17  # the lowest severity number of this level
_MOST_SEVERE: Final = 24
_LONGEST_MESSAGE: Final = 4000
_OF_AGENTS: Final = ("invoke_agent", "invoke_workflow")
_OF_TROUBLE: Final = ("exception.type", "exception.message")
_OF_MESSAGES: Final = (names.GEN_AI_OUTPUT_MESSAGES, names.GEN_AI_TOOL_CALL_ID)


@dataclass(slots=True)
class Logs:
    """The records read so far: of each trace its messages, and of each span its kinds of trouble, the last of each."""

    messages: dict[str, list[LogRecord]] = field(default_factory=dict[str, list[LogRecord]])
    troubles: dict[str, dict[tuple[object, ...], LogRecord]] = field(
        default_factory=dict[str, dict[tuple[object, ...], LogRecord]]
    )

    def add(self, document: object) -> set[str]:
        """Read a document; the traces that its records belong to, whether they tell something or not."""
        found = set[str]()
        for raw, logger in _raw(document):
            trace_id, span_id = _id(raw.get("traceId"), 32), _id(raw.get("spanId"), 16)
            found.add(trace_id)
            if trace_id and span_id:
                self._keep(trace_id, _record(raw, span_id, logger))
        return found - {""}

    def of(self, trace_id: str, spans: Iterable[Span]) -> list[LogRecord]:
        """What the records of a trace tell that lie in the time of its spans."""
        times = [(span.start_ns, span.end_ns) for span in spans]
        first, last = min(start for start, _ in times) - _SLACK_NS, max(end for _, end in times) + _SLACK_NS
        kinds = (kind for kind in self.troubles.get(trace_id, {}).items() if first <= kind[1].time_ns <= last)
        told = [one for one in self.messages.get(trace_id, ()) if first <= one.time_ns <= last]
        return [*_most_telling(kinds), *told]

    def _keep(self, trace_id: str, record: LogRecord) -> None:
        if record.name in _MESSAGES:
            self.messages.setdefault(trace_id, []).extend(_of_message(record))
        elif _is_trouble(record):
            trouble = _only(record, _OF_TROUBLE)
            kinds, kind = self.troubles.setdefault(trace_id, {}), _kind(trouble)
            kinds[kind] = max(trouble, kinds.get(kind, trouble), key=_when)


def _raw(document: object) -> Iterator[tuple[dict[str, object], str]]:
    """Each record as it came, with the name of its scope."""
    for group in map(mapping, items(mapping(document).get("resourceLogs"))):
        for scoped in map(mapping, items(group.get("scopeLogs"))):
            logger = text(mapping(scoped.get("scope")).get("name"))
            yield from ((mapping(raw), logger) for raw in items(scoped.get("logRecords")))


def _record(raw: dict[str, object], span_id: str, logger: str) -> LogRecord:
    attributes = attributes_from_json(raw.get("attributes"))
    severity = whole(raw.get("severityNumber")) or 0
    return LogRecord(
        span_id=span_id,
        name=text(raw.get("eventName")) or text(attributes.get("event.name")),
        time_ns=whole(raw.get("timeUnixNano")) or whole(raw.get("observedTimeUnixNano")) or 0,
        severity=severity if 0 <= severity <= _MOST_SEVERE else 0,
        level=text(raw.get("severityText")),
        logger=logger,
        body=from_json(raw.get("body")),
        attributes=attributes,
    )


def _id(value: object, digits: int) -> str:
    """An id in lower case; "" where it is none, for such a record belongs to no span."""
    found = text(value).lower()
    return found if len(found) == digits and found.strip("0") and not found.strip("0123456789abcdef") else ""


def _is_trouble(record: LogRecord) -> bool:
    named = record.name == "exception" or record.name.endswith(".exception")
    return record.name != _OUR_OWN and (named or record.severity >= _ERROR)


def _only(record: LogRecord, kept: Iterable[str]) -> LogRecord:
    """A record with those attributes alone, since all records wait until the last file is read."""
    attributes = {key: record.attributes[key] for key in kept if record.attributes.get(key)}
    if isinstance(said := attributes.get("exception.message"), str):
        attributes["exception.message"] = said[:_LONGEST_MESSAGE]
    body = record.body if record.name in _MESSAGES else None
    return LogRecord(
        record.span_id, record.name, record.time_ns, record.severity, record.level, record.logger, body, attributes
    )


def _kind(record: LogRecord) -> tuple[object, ...]:
    return (record.span_id, record.name, record.exception, record.severity, record.level, record.logger)


def _when(record: LogRecord) -> tuple[int, str]:
    return record.time_ns, str(record.attributes.get("exception.message"))


def _most_telling(kinds: Iterable[tuple[tuple[object, ...], LogRecord]]) -> Iterator[LogRecord]:
    """Of each span the kinds that tell most: a loop that logs a million errors counts no more than one of a few."""
    left: dict[str, int] = {}
    for record in sorted((record for _, record in kinds), key=_telling, reverse=True):
        left[record.span_id] = left.get(record.span_id, EACH) - 1
        if left[record.span_id] >= 0:
            yield record


def _telling(record: LogRecord) -> tuple[object, ...]:
    named = record.name == "gen_ai.execute_tool.exception"
    return (named, record.name, record.exception, record.severity, record.level, record.logger)


def _of_message(record: LogRecord) -> Iterator[LogRecord]:
    """A message, and the results of tools that the input of a model repeats."""
    of_agent = record.attributes.get("gen_ai.operation.name") in _OF_AGENTS
    yield _only(record, (*_OF_MESSAGES, INPUT_MESSAGES) if of_agent else _OF_MESSAGES)
    for message in map(mapping, items(loads(record.attributes.get(INPUT_MESSAGES)))):
        for part in map(mapping, items(message.get("parts"))):
            if part.get("type") == "tool_call_response" and text(part.get("id")):
                yield LogRecord(record.span_id, TOOL, record.time_ns, body=part)
