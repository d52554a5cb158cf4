"""OTLP trace requests: the check of each span, and the rows of otel_traces.

The mapping is that of the OpenTelemetry Collector's ClickHouse exporter. Kept beside it is what that exporter loses:
flags, counts of what was dropped, schema URLs, attributes of the scope, and the types of attribute values.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from overclaim.reading.otlp_values import from_proto
from overclaim_collector.otlp.items import Checked, Refused, Row
from overclaim_collector.otlp.value_text import as_text

TABLE: Final = "otel_traces"
COLUMNS: Final = (
    "Timestamp",
    "TraceId",
    "SpanId",
    "ParentSpanId",
    "TraceState",
    "SpanName",
    "SpanKind",
    "ServiceName",
    "ResourceAttributes",
    "ScopeName",
    "ScopeVersion",
    "SpanAttributes",
    "Duration",
    "StatusCode",
    "StatusMessage",
    "Events.Timestamp",
    "Events.Name",
    "Events.Attributes",
    "Links.TraceId",
    "Links.SpanId",
    "Links.TraceState",
    "Links.Attributes",
    "TraceFlags",
    "DroppedAttributes",
    "DroppedEvents",
    "DroppedLinks",
    "ResourceSchemaUrl",
    "ResourceAttributeTypes",
    "ResourceDroppedAttributes",
    "ScopeSchemaUrl",
    "ScopeAttributes",
    "ScopeDroppedAttributes",
    "SpanAttributeTypes",
    "EventDroppedAttributes",
    "LinkDroppedAttributes",
    "LinkFlags",
)
_KINDS: Final = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_STATUSES: Final = ("Unset", "Ok", "Error")
_LATEST: Final = (1 << 63) - 1  # DateTime64(9) ends on 2262-04-11
_NO_EVENTS: Final[tuple[list[Any], ...]] = ([], [], [])
_NO_LINKS: Final[tuple[list[Any], ...]] = ([], [], [], [])
_NO_TRACE: Final = bytes(16)
_NO_SPAN: Final = bytes(8)
# The words of the Collector's pdata for what is no string.
_TYPES: Final[dict[str | None, str]] = {
    "string_value": "",
    "bool_value": "Bool",
    "int_value": "Int",
    "double_value": "Double",
    "array_value": "Slice",
    "kvlist_value": "Map",
    "bytes_value": "Bytes",
}


def check(request: ExportTraceServiceRequest) -> Checked:
    """Take out the spans that cannot be kept and mend what can be mended, in place; says what was done."""
    checked = Checked()
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            _check_spans(scope_spans.spans, checked)
    return checked


def _check_spans(spans: Any, checked: Checked) -> None:
    odd = [index for index, span in enumerate(spans) if not _is_well(span)]
    for index in reversed(odd):
        if why := _fault(span := spans[index]):
            # Partial: native.py's messages hold values that cannot be written whole.
            checked.refused.append(Refused(why, span.SerializePartialToString()))
            del spans[index]
        else:
            _mend(span, checked)
    checked.kept += len(spans)


def _is_well(span: Span) -> bool:
    """Whether there is nothing to refuse or to mend: of every span, so it looks at each field once."""
    trace_id, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
    return (
        len(trace_id) == 16
        and len(span_id) == 8
        and trace_id != _NO_TRACE
        and span_id != _NO_SPAN
        and (not parent or (len(parent) == 8 and parent != _NO_SPAN))
        and 0 < (start := span.start_time_unix_nano) <= _LATEST
        and start <= span.end_time_unix_nano
        and 0 <= span.kind < len(_KINDS)
        and 0 <= span.status.code < len(_STATUSES)
        and not (span.events and any(event.time_unix_nano > _LATEST for event in span.events))
    )


def rows(request: ExportTraceServiceRequest) -> list[Row]:
    """The rows of a checked request."""
    found: list[Row] = []
    for resource_spans in request.resource_spans:
        resource = resource_spans.resource
        texts, types = attributes(resource.attributes), types_of(resource.attributes)
        of_resource = (resource_spans.schema_url, types, resource.dropped_attributes_count)
        service = texts.get("service.name", "")
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope
            before = (service, texts, scope.name, scope.version)
            of_scope = (scope_spans.schema_url, attributes(scope.attributes), scope.dropped_attributes_count)
            found += [_row(span, before, (*of_resource, *of_scope)) for span in scope_spans.spans]
    return found


def _fault(span: Span) -> str:
    """Why a span cannot be kept; empty for a good one."""
    trace_id, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
    if len(trace_id) != 16 or trace_id == _NO_TRACE:
        return f"trace id of {len(trace_id)} bytes instead of 16" if len(trace_id) != 16 else "trace id of zeros"
    if len(span_id) != 8 or span_id == _NO_SPAN:
        return f"span id of {len(span_id)} bytes instead of 8" if len(span_id) != 8 else "span id of zeros"
    if parent and len(parent) != 8:
        return f"parent span id of {len(parent)} bytes instead of 8"
    if span.start_time_unix_nano > _LATEST:
        return "start time after the year 2262"
    return ""


def _mend(span: Span, checked: Checked) -> None:
    """Put the fields of a span into the range of its columns."""
    _mend_times(span, checked)
    if span.parent_span_id == _NO_SPAN:
        span.ClearField("parent_span_id")
    if not 0 <= span.kind < len(_KINDS):
        span.ClearField("kind")
    if not 0 <= span.status.code < len(_STATUSES):
        span.status.ClearField("code")
    for event in span.events:
        if event.time_unix_nano > _LATEST:
            event.time_unix_nano = _LATEST


def _mend_times(span: Span, checked: Checked) -> None:
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    if start == 0:
        checked.mended["no start time; the end time, or else the time of arrival, is taken"] += 1
        span.start_time_unix_nano = span.end_time_unix_nano = min(end, _LATEST) or time.time_ns()
    elif end < start:
        checked.mended[f"{'end before start' if end else 'no end time'}; the duration is taken as 0"] += 1
        span.end_time_unix_nano = start


def _row(span: Span, before: tuple[Any, ...], shared: tuple[Any, ...]) -> Row:
    return (
        span.start_time_unix_nano,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.trace_state,
        span.name,
        _KINDS[span.kind],
        *before,
        attributes(span.attributes),
        span.end_time_unix_nano - span.start_time_unix_nano,
        _STATUSES[span.status.code],
        span.status.message,
        *(_events(span.events) if span.events else _NO_EVENTS),
        *(_links(span.links) if span.links else _NO_LINKS),
        span.flags,
        span.dropped_attributes_count,
        span.dropped_events_count,
        span.dropped_links_count,
        *shared,
        types_of(span.attributes),
        [event.dropped_attributes_count for event in span.events],
        [link.dropped_attributes_count for link in span.links],
        [link.flags for link in span.links],
    )


def _events(events: Iterable[Span.Event]) -> tuple[list[Any], ...]:
    kept = list(events)
    return (
        [event.time_unix_nano for event in kept],
        [event.name for event in kept],
        [attributes(event.attributes) for event in kept],
    )


def _links(links: Iterable[Span.Link]) -> tuple[list[Any], ...]:
    kept = list(links)
    return (
        [link.trace_id.hex() for link in kept],
        [link.span_id.hex() for link in kept],
        [link.trace_state for link in kept],
        [attributes(link.attributes) for link in kept],
    )


def types_of(pairs: Iterable[KeyValue]) -> dict[str, str]:
    """The types of attributes that are no strings, by key; of equal keys the last one counts."""
    kinds = {pair.key: type_of(pair.value) for pair in pairs}
    return {key: kind for key, kind in kinds.items() if kind}


def type_of(value: AnyValue) -> str:
    """The type of what is no string, in the words of the Collector's pdata; "" for a string."""
    return _TYPES.get(value.WhichOneof("value"), "Empty")


def attributes(pairs: Iterable[KeyValue]) -> dict[str, str]:
    """Attributes as text by key; of equal keys the last one counts."""
    return {pair.key: text_of(pair.value) for pair in pairs}


def text_of(value: AnyValue) -> str:
    """A value as text."""
    return value.string_value or as_text(from_proto(value))
