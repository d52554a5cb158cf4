"""OTLP requests made by hand, where a stock exporter would not make them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


def span(name: str = "s", **fields: Any) -> Span:
    """A good span of now; fields replace its own."""
    now = time.time_ns()
    mine = {"trace_id": os.urandom(16), "span_id": os.urandom(8), "name": name}
    return Span(**{**mine, "start_time_unix_nano": now, "end_time_unix_nano": now + 1, **fields})


def text(key: str, value: str) -> KeyValue:
    """An attribute that is a text."""
    return KeyValue(key=key, value=AnyValue(string_value=value))


def request(spans: Iterable[Span], service: str = "faults") -> bytes:
    """A request of these spans."""
    message = ExportTraceServiceRequest()
    group = message.resource_spans.add()
    group.resource.attributes.append(text("service.name", service))
    group.scope_spans.add().spans.extend(spans)
    return message.SerializeToString()


def good(count: int, service: str = "faults") -> bytes:
    """A request of so many good spans."""
    return request((span() for _ in range(count)), service)


def rejected(answer: bytes) -> int:
    """How many spans an answer of success says were refused."""
    return int(ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans)
