"""One OTLP request to rows of otel_traces, by the mapping of the OpenTelemetry Collector's ClickHouse exporter.

Kept beside it: trace flags and the counts of dropped attributes, events and links, which that exporter loses.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from overclaim.reading.otlp_values import from_proto
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
)
_KINDS: Final = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_STATUSES: Final = ("Unset", "Ok", "Error")
_LATEST: Final = (1 << 63) - 1  # DateTime64(9) ends on 2262-04-11
_NO_EVENTS: Final[tuple[list[Any], ...]] = ([], [], [])
_NO_LINKS: Final[tuple[list[Any], ...]] = ([], [], [], [])
_NO_TRACE: Final = bytes(16)
_NO_SPAN: Final = bytes(8)

Row = tuple[Any, ...]


@dataclass(slots=True)
class Rows:
    """The rows of one request, and what was wrong with the rest."""

    rows: list[Row] = field(default_factory=list[Row])
    refused: Counter[str] = field(default_factory=Counter[str])
    mended: Counter[str] = field(default_factory=Counter[str])

    @property
    def message(self) -> str:
        """For the sender: why spans were refused, or what was mended; empty when all was well."""
        said = [f"{count} refused: {why}" for why, count in self.refused.most_common(5)]
        said += [f"{count} stored with a change: {why}" for why, count in self.mended.most_common(5)]
        return "; ".join(said)


def build(request: ExportTraceServiceRequest) -> Rows:
    """The rows of a request; a span that cannot be kept is counted and the others are kept."""
    result = Rows()
    for resource_spans in request.resource_spans:
        resource = attributes(resource_spans.resource.attributes)
        service = resource.get("service.name", "")
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope
            shared = (service, resource, scope.name, scope.version)
            _add_spans(result, scope_spans.spans, shared)
    return result


def _add_spans(result: Rows, spans: Iterable[Span], shared: tuple[str, dict[str, str], str, str]) -> None:
    for span in spans:
        why = _fault(span)
        if why:
            result.refused[why] += 1
        else:
            result.rows.append(_row(span, shared, result.mended))


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


def _row(span: Span, shared: tuple[str, dict[str, str], str, str], mended: Counter[str]) -> Row:
    start, duration = _times(span, mended)
    service, resource, scope_name, scope_version = shared
    parent = span.parent_span_id
    status = span.status
    return (
        start,
        span.trace_id.hex(),
        span.span_id.hex(),
        "" if parent == _NO_SPAN else parent.hex(),
        span.trace_state,
        span.name,
        _named(_KINDS, span.kind),
        service,
        resource,
        scope_name,
        scope_version,
        attributes(span.attributes),
        duration,
        _named(_STATUSES, status.code),
        status.message,
        *(_events(span.events) if span.events else _NO_EVENTS),
        *(_links(span.links) if span.links else _NO_LINKS),
        span.flags,
        span.dropped_attributes_count,
        span.dropped_events_count,
        span.dropped_links_count,
    )


def _times(span: Span, mended: Counter[str]) -> tuple[int, int]:
    """(start, duration) in nanoseconds, both in range."""
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    if start == 0:
        mended["no start time; the end time, or else the time of arrival, is taken"] += 1
        return (min(end, _LATEST) or time.time_ns()), 0
    if end < start:
        mended[f"{'end before start' if end else 'no end time'}; the duration is taken as 0"] += 1
        return start, 0
    return start, end - start


def _named(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else names[0]


def _events(events: Iterable[Span.Event]) -> tuple[list[Any], ...]:
    kept = list(events)
    return (
        [min(event.time_unix_nano, _LATEST) for event in kept],
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


def attributes(pairs: Iterable[KeyValue]) -> dict[str, str]:
    """Attributes as text by key; of equal keys the last one counts."""
    return {pair.key: _text(pair.value) for pair in pairs}


def _text(value: AnyValue) -> str:
    return value.string_value or as_text(from_proto(value))
