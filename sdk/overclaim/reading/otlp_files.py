"""Spans from OTLP documents: JSON objects with `resourceSpans`, and protobuf trace requests.

JSON follows the OTLP/JSON mapping: lowerCamelCase names only, ids as hex of any case, 64-bit integers as
strings or numbers, enums as integers, null as absent, unknown fields ignored.
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from overclaim._errors import InputError
from overclaim._json import items, mapping, text, whole
from overclaim.reading.otlp_values import attributes_from_json, attributes_from_proto
from overclaim.reading.spans import Event, Link, Span, kind_name, status_name

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1 import trace_pb2

_DROPPED = ("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount")


@dataclass(frozen=True, slots=True)
class Origin:
    """What the spans of one scope share: the service, its resource and the instrumentation scope."""

    service: str = ""
    scope: str = ""
    resource: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(slots=True)
class Decoded:
    """The spans of a document, and one line for each span that could not be used."""

    spans: list[Span] = field(default_factory=list[Span])
    rejected: list[str] = field(default_factory=list[str])


def decode_json(document: object) -> Decoded:
    """Read the spans of one OTLP/JSON trace request, or of any object with `resourceSpans`."""
    decoded = Decoded()
    for raw, origin in _json_spans(document):
        try:
            decoded.spans.append(_json_span(raw, origin))
        except ValueError as error:
            decoded.rejected.append(f"span {text(raw.get('name'))[:80]!r}: {error}")
    return decoded


def decode_protobuf(data: bytes) -> Decoded:
    """Read the spans of one ExportTraceServiceRequest (or TracesData, which has the same form) in protobuf.

    Raises InputError where the bytes are no such message.
    """
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        request = ExportTraceServiceRequest.FromString(data)
    except DecodeError as error:
        raise InputError(f"no OTLP trace request: {error}") from None
    decoded = Decoded()
    for message, origin in _proto_spans(request.resource_spans):
        try:
            decoded.spans.append(_proto_span(message, origin))
        except ValueError as error:
            decoded.rejected.append(f"span {message.name[:80]!r}: {error}")
    return decoded


def _json_spans(document: object) -> Iterator[tuple[dict[str, object], Origin]]:
    for group in map(mapping, items(mapping(document).get("resourceSpans"))):
        resource = attributes_from_json(mapping(group.get("resource")).get("attributes"))
        for scoped in map(mapping, items(group.get("scopeSpans"))):
            scope = text(mapping(scoped.get("scope")).get("name"))
            origin = Origin(str(resource.get("service.name", "")), scope, resource)
            yield from ((mapping(raw), origin) for raw in items(scoped.get("spans")))


def _json_span(raw: dict[str, object], origin: Origin) -> Span:
    status = mapping(raw.get("status"))
    return Span(
        trace_id=_id(raw.get("traceId"), 32, "traceId"),
        span_id=_id(raw.get("spanId"), 16, "spanId"),
        parent_span_id=_parent(raw.get("parentSpanId")),
        name=text(raw.get("name")),
        kind=kind_name(_enum(raw.get("kind"), "kind")),
        service=origin.service,
        scope=origin.scope,
        start_ns=_unsigned(raw.get("startTimeUnixNano")),
        end_ns=_unsigned(raw.get("endTimeUnixNano")),
        status=status_name(_enum(status.get("code"), "status.code")),
        status_message=text(status.get("message")),
        attributes=attributes_from_json(raw.get("attributes")),
        resource=origin.resource,
        events=[_json_event(mapping(event)) for event in items(raw.get("events"))],
        links=[_json_link(mapping(link)) for link in items(raw.get("links"))],
        dropped=sum(_unsigned(raw.get(name)) for name in _DROPPED),
    )


def _json_event(raw: dict[str, object]) -> Event:
    time = _unsigned(raw.get("timeUnixNano"))
    return Event(text(raw.get("name")), time, attributes_from_json(raw.get("attributes")))


def _json_link(raw: dict[str, object]) -> Link:
    trace_id, span_id = text(raw.get("traceId")).lower(), text(raw.get("spanId")).lower()
    return Link(trace_id, span_id, attributes_from_json(raw.get("attributes")))


def _unsigned(value: object) -> int:
    """Return a number that fits its field, else 0."""
    number = whole(value) or 0
    return number if 0 <= number < 1 << 64 else 0


def _id(value: object, digits: int, name: str) -> str:
    found = text(value).lower()
    if len(found) != digits or found.strip("0123456789abcdef") or not found.strip("0"):
        raise ValueError(f"{name} {found[:40]!r} is not {digits} hex digits that are not all zero")
    return found


def _parent(value: object) -> str:
    found = text(value).lower()
    return _id(found, 16, "parentSpanId") if found.strip("0") else ""


def _enum(value: object, name: str) -> int:
    if value is None:
        return 0
    if not isinstance(value, int):
        raise ValueError(f"{name} {str(value)[:40]!r} is not an integer, as OTLP/JSON wants it")
    return value


def _proto_spans(groups: Iterable[trace_pb2.ResourceSpans]) -> Iterator[tuple[trace_pb2.Span, Origin]]:
    for group in groups:
        resource = attributes_from_proto(group.resource.attributes)
        for scoped in group.scope_spans:
            origin = Origin(str(resource.get("service.name", "")), scoped.scope.name, resource)
            yield from ((message, origin) for message in scoped.spans)


def _proto_span(message: trace_pb2.Span, origin: Origin) -> Span:
    return Span(
        trace_id=_id(message.trace_id.hex(), 32, "trace_id"),
        span_id=_id(message.span_id.hex(), 16, "span_id"),
        parent_span_id=_parent(message.parent_span_id.hex()),
        name=message.name,
        kind=kind_name(int(message.kind)),
        service=origin.service,
        scope=origin.scope,
        start_ns=message.start_time_unix_nano,
        end_ns=message.end_time_unix_nano,
        status=status_name(int(message.status.code)),
        status_message=message.status.message,
        attributes=attributes_from_proto(message.attributes),
        resource=origin.resource,
        events=[Event(e.name, e.time_unix_nano, attributes_from_proto(e.attributes)) for e in message.events],
        links=[
            Link(link.trace_id.hex(), link.span_id.hex(), attributes_from_proto(link.attributes))
            for link in message.links
        ],
        dropped=message.dropped_attributes_count + message.dropped_events_count + message.dropped_links_count,
    )
