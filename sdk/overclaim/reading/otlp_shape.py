"""Count what a protobuf trace request or a JSON text holds, before it is parsed.

An empty protobuf message takes two bytes on the wire and about 170 in memory, an empty JSON list three and 64: a body
within a size limit could fill gigabytes. The number of bytes that could start a part is an upper bound and costs next
to nothing; only a body above the limit is walked, and the walk stops at the limit.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

MAX_NESTING: Final = 100  # what protobuf itself allows

# Of one message type: field number -> the fields of the message in it.
Fields: TypeAlias = "dict[int, Fields]"


class NoRequest(ValueError):
    """The bytes are no ExportTraceServiceRequest; the text says why."""


def more_messages_than(body: bytes, limit: int) -> bool:
    """Whether a trace request in protobuf holds more than `limit` messages, nested ones included.

    Raises:
        NoRequest: where the walk finds that this is no protobuf, or nested too deeply.
    """
    if len(body) - len(body.translate(None, _TAGS)) <= limit:
        return False
    try:
        return _walk(body, limit)
    except IndexError:
        raise NoRequest("it ends too early") from None


def more_values_than(body: bytes, limit: int) -> bool:
    """Whether a JSON text holds more than about `limit` values, by the brackets and commas outside its strings."""
    if sum(map(body.count, _JSON_PARTS)) <= limit:
        return False
    bare = _JSON_STRING.sub(b"", body)
    return sum(map(bare.count, _JSON_PARTS)) > limit


_JSON_PARTS = (b",", b"{", b"[")
_JSON_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def _walk(body: bytes, limit: int) -> bool:
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
            if count > limit:
                return True
            if len(outer) > MAX_NESTING:
                raise NoRequest(f"it is nested deeper than {MAX_NESTING} levels")
            outer.append((end, fields))
            end, fields = stop, child
        if not outer:
            return False
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
        raise NoRequest(f"wire type {wire}")
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
