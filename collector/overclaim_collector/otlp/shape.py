"""Bound what parsing a body can cost before it is parsed: a body within the size limit could fill gigabytes."""

from __future__ import annotations

from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from overclaim.reading.otlp_shape import NoRequest, more_messages_than, more_values_than
from overclaim_collector.refusal import invalid, too_large

# Some 170 bytes of memory each, and 120: a request stays below 100 MiB, and is refused within a quarter of a second.
MAX_MESSAGES: Final = 500_000
MAX_JSON_VALUES: Final = 1_000_000


def check_protobuf(body: bytes, limit: int = MAX_MESSAGES, kind: Any = ExportTraceServiceRequest) -> None:
    """Refuse a request of more than `limit` messages, nested ones included. kind: its message type.

    Raises:
        Refusal: TOO_LARGE over the limit, INVALID where the walk finds that this is no protobuf.
    """
    try:
        more = more_messages_than(body, limit, kind)
    except NoRequest as error:
        raise invalid(f"the body is not a protobuf {kind.DESCRIPTOR.name}: {error}") from None
    if more:
        raise too_large(f"the request holds more than {limit} messages: send smaller batches")


def check_json(body: bytes, limit: int = MAX_JSON_VALUES) -> None:
    """Refuse a JSON text of more than about `limit` values.

    Raises:
        Refusal: TOO_LARGE over the limit.
    """
    if more_values_than(body, limit):
        raise too_large(f"the request holds more than {limit} JSON values: send smaller batches")
