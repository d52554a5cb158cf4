"""Count what an OTLP request in protobuf or a JSON text holds, before it is parsed.

An empty protobuf message takes two bytes on the wire and about 170 in memory, an empty JSON list three and 64: a body
within a size limit could fill gigabytes. The number of bytes that could start a part is an upper bound and costs next
to nothing; only a body above the limit is walked, and the walk stops at the limit, or where other fields would keep it
busy for seconds.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_SHORTEST: Final = 2  # bytes of a message: tag and length
_FIELDS: Final = 4  # per message that may be; real ones have fewer, since most are attributes and their values
MAX_NESTING: Final = 100  # what protobuf itself allows

# Of one message type: field number -> the fields of the message in it.
Fields: TypeAlias = "dict[int, Fields]"


class NoRequest(ValueError):
    """The bytes are no such request; the text says why."""


def more_messages_than(body: bytes, limit: int, kind: Any = ExportTraceServiceRequest) -> bool:
    """Whether a request in protobuf holds more than `limit` messages, nested ones included.

    kind: the message type of the request.

    Raises:
        NoRequest: where the walk finds that this is no protobuf, or nested too deeply.
    """
    if len(body) <= limit * _SHORTEST:
        return False
    shape = _shape(kind.DESCRIPTOR)
    if len(body) - len(body.translate(None, shape.tags)) <= limit:
        return False
    try:
        return _walk(body, limit, shape.root)
    except IndexError:
        raise NoRequest("it ends too early") from None


def more_values_than(body: bytes, limit: int) -> bool:
    """Whether a JSON text holds more than about `limit` values, by the brackets and commas outside its strings."""
    if len(body) <= limit or sum(map(body.count, _JSON_PARTS)) <= limit:
        return False
    bare = _JSON_STRING.sub(b"", body)
    return sum(map(bare.count, _JSON_PARTS)) > limit


_JSON_PARTS = (b",", b"{", b"[")
_JSON_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def _walk(body: bytes, limit: int, fields: Fields) -> bool:
    position, end = 0, len(body)
    outer: list[tuple[int, Fields]] = []
    count = walked = 0
    while True:
        while position < end:
            child, position, stop = _field(body, position, end, fields)
            walked += 1
            count += child is not None
            if count > limit or walked > limit * _FIELDS:
                return True
            if child is None or position == stop:
                position = stop
                continue
            if len(outer) > MAX_NESTING:
                raise NoRequest(f"it is nested deeper than {MAX_NESTING} levels")
            outer.append((end, fields))
            end, fields = stop, child
        if not outer:
            return False
        end, fields = outer.pop()


def _field(body: bytes, position: int, end: int, fields: Fields) -> tuple[Fields | None, int, int]:
    """(fields of the message in this field or None, where its content starts, where it ends)."""
    tag = body[position]
    if tag & 0x87 == 2 and body[position + 1] < 128:  # tag and length of one byte each, as most are
        stop = position + 2 + body[position + 1]
        child, position = fields.get(tag >> 3), position + 2
    else:
        child, position, stop = _long_field(body, position, fields)
    if stop > end:
        raise IndexError
    return child, position, stop


def _long_field(body: bytes, position: int, fields: Fields) -> tuple[Fields | None, int, int]:
    tag, position = _varint(body, position)
    wire = tag & 7
    if wire == 2:
        length, position = _varint(body, position)
        return fields.get(tag >> 3), position, position + length
    if wire == 0:
        _, stop = _varint(body, position)
        return None, position, stop
    if wire in (1, 5):
        return None, position, position + (8 if wire == 1 else 4)
    raise NoRequest(f"wire type {wire}")


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


class _Shape(NamedTuple):
    """The fields of a request that are messages, and the first bytes of their tags, those of nested ones included."""

    root: Fields
    tags: bytes


@cache
def _shape(descriptor: Any) -> _Shape:
    known: dict[str, Fields] = {}
    root = _message_fields(descriptor, known)
    numbers = {number for fields in known.values() for number in fields}
    # A tag may be written longer than need be; then its first byte has the high bit set.
    return _Shape(root, bytes(tag | high for number in numbers for tag in [number << 3 | 2] for high in (0, 128)))
