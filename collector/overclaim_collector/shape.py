"""Bound what parsing a body can cost before it is parsed.

An empty protobuf message takes two bytes on the wire and about 170 in memory, an empty JSON list three and 64: a body
within the size limit could fill gigabytes. So its parts are counted first. The number of bytes that could start a part
is an upper bound and costs next to nothing; only a body above it is walked, and the walk stops at the limit.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from overclaim_collector.refusal import invalid, too_large

MAX_MESSAGES: Final = 1_000_000
MAX_JSON_VALUES: Final = 2_000_000
MAX_NESTING: Final = 100  # what protobuf itself allows

# Of one message type: field number -> the fields of the message in it.
Fields: TypeAlias = "dict[int, Fields]"


def check_protobuf(body: bytes, limit: int = MAX_MESSAGES) -> None:
    """Refuse a request of more than `limit` messages, nested ones included.

    Raises:
        Refusal: TOO_LARGE over the limit, INVALID where the walk finds that this is no protobuf.
    """
    if len(body) - len(body.translate(None, _TAGS)) <= limit:
        return
    try:
        _walk(body, limit)
    except IndexError:
        raise invalid("the body is not a protobuf ExportTraceServiceRequest: it ends too early") from None


def check_json(body: bytes, limit: int = MAX_JSON_VALUES) -> None:
    """Refuse a JSON text of more than about `limit` values.

    Raises:
        Refusal: TOO_LARGE over the limit.
    """
    if sum(map(body.count, (b",", b"{", b"["))) <= limit:
        return
    outside = (1 for token in _JSON_TOKEN.finditer(body) if token[0][0] != 0x22)
    if sum(1 for _ in zip(outside, range(limit + 1), strict=False)) > limit:
        raise too_large(f"the request holds more than {limit} JSON values: send smaller batches")


_JSON_TOKEN = re.compile(rb'"(?:[^"\\]+|\\.)*+"|[{\[,]', re.DOTALL)


def _walk(body: bytes, limit: int) -> None:
    position, end, fields = 0, len(body), _ROOT
    outer: list[tuple[int, Fields]] = []
    count = 0
    while True:
        while position < end:
            tag, position = _varint(body, position)
            child, position, stop = _field(body, position, end, tag, fields)
            if child is None:
                position = stop
                continue
            count += 1
            _check_limits(count, limit, len(outer))
            outer.append((end, fields))
            end, fields = stop, child
        if not outer:
            return
        end, fields = outer.pop()


def _field(body: bytes, position: int, end: int, tag: int, fields: Fields) -> tuple[Fields | None, int, int]:
    """(fields of the message in this field or None, where its content starts, where it ends)."""
    wire = tag & 7
    if wire == 2:
        length, position = _varint(body, position)
        stop, child = position + length, fields.get(tag >> 3)
    elif wire == 0:
        _, stop = _varint(body, position)
        child = None
    elif wire in (1, 5):
        stop, child = position + (8 if wire == 1 else 4), None
    else:
        raise invalid(f"the body is not a protobuf ExportTraceServiceRequest: wire type {wire}")
    if stop > end:
        raise IndexError
    return child, position, stop


def _varint(body: bytes, position: int) -> tuple[int, int]:
    byte = body[position]
    value, shift, position = byte & 127, 7, position + 1
    while byte > 127:
        byte = body[position]
        value |= (byte & 127) << shift
        shift, position = shift + 7, position + 1
        if shift > 70:
            raise IndexError
    return value, position


def _check_limits(count: int, limit: int, depth: int) -> None:
    if count > limit:
        raise too_large(f"the request holds more than {limit} messages: send smaller batches")
    if depth > MAX_NESTING:
        raise invalid(f"the request is nested deeper than {MAX_NESTING} levels")


def _message_fields(descriptor: Any, known: dict[str, Fields]) -> Fields:
    name: str = descriptor.full_name
    if name not in known:
        known[name] = {}
        for field in descriptor.fields:
            if field.message_type:
                known[name][field.number] = _message_fields(field.message_type, known)
    return known[name]


_KNOWN: dict[str, Fields] = {}
_ROOT = _message_fields(ExportTraceServiceRequest.DESCRIPTOR, _KNOWN)
_NUMBERS = {number for fields in _KNOWN.values() for number in fields}
# A tag may be written longer than need be; then its first byte has the high bit set.
_TAGS = bytes(tag | high for number in _NUMBERS for tag in [number << 3 | 2] for high in (0, 128))
