"""OTLP trace requests: bytes in, rows of otel_traces out. Limits come before parsing, checks of each span after it."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from overclaim_collector.otlp import json_reader, shape, spans
from overclaim_collector.otlp.spans import Rows
from overclaim_collector.refusal import invalid, too_large

MAX_SPANS = 100_000


class Encoding(Enum):
    """The two encodings of OTLP, by their media types."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


def decode(body: bytes, encoding: Encoding) -> Rows:
    """The rows of an ExportTraceServiceRequest; bad spans are counted in it, good ones kept.

    Args:
        body: the request, uncompressed.
        encoding: how it is written.

    Raises:
        Refusal: INVALID where it is no such request, TOO_LARGE where it would cost too much memory.
    """
    misfits = Counter[str]()
    request = _parse(body, encoding, misfits)
    count = sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
    if count > MAX_SPANS:
        raise too_large(f"the request holds {count} spans, more than {MAX_SPANS}: send smaller batches")
    result = spans.build(request)
    result.refused.update(misfits)
    return result


def _parse(body: bytes, encoding: Encoding, misfits: Counter[str]) -> ExportTraceServiceRequest:
    if encoding is Encoding.JSON:
        shape.check_json(body)
        return json_reader.parse(body, misfits)
    shape.check_protobuf(body)
    try:
        return ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        raise invalid("the body is not a protobuf ExportTraceServiceRequest (damaged, or not UTF-8 text)") from error
