"""Requests made to hurt whoever reads them."""

from __future__ import annotations

import zlib
from functools import cache

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from tests.faults.harness.requests import request, span, text

from overclaim_collector.receivers.inflate import zstd

PROTOBUF, JSON = "application/x-protobuf", "application/json"
MIB = 1 << 20


def field(number: int, content: bytes) -> bytes:
    """A length-delimited protobuf field."""
    length, size = b"", len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


@cache
def bomb(kind: str, mib: int = 512) -> bytes:
    """So many MiB of zeros, packed a thousand times smaller and more: gzip, deflate or zstd."""
    if kind == "zstd":
        return zstd.compress(bytes(mib * MIB), 19)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if kind == "gzip" else 15)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(mib)) + packer.flush()


@cache
def dense_protobuf(spans: int = 5_000_000) -> bytes:
    """Empty spans, two bytes each, which take 170 when parsed."""
    return field(1, field(2, field(2, b"") * spans))


def dense_attributes(count: int) -> bytes:
    """One span of empty attributes."""
    return field(1, field(2, field(2, field(9, b"") * count)))


def dense_json(values: int = 3_000_000) -> bytes:
    """Empty objects, three bytes each, which take 64 when parsed."""
    return b'{"resourceSpans":[' + b"{}," * values + b"{}]}"


def nested_protobuf(levels: int) -> bytes:
    """A good span but for an attribute that is a list in a list in a list."""
    value = AnyValue(int_value=1).SerializeToString()
    for _ in range(levels):
        value = field(5, field(1, value))
    attribute = field(9, field(1, b"k") + field(2, value))
    return field(1, field(2, field(2, span().SerializeToString() + attribute)))


def nested_json(levels: int) -> bytes:
    """A text that begins with so many lists."""
    return b"[" * levels


def one_attribute(size: int) -> bytes:
    """A good span with one attribute of that many bytes, which do not repeat."""
    pattern = "".join(f"{number:07x} " for number in range(size // 8 + 1))
    return request([span(attributes=[text("long", pattern[:size])])])


def long_key(size: int) -> bytes:
    """A good span with an attribute whose name has that many bytes."""
    return request([span(attributes=[text("k" * size, "v")])])


def many_attributes(count: int) -> bytes:
    """A good span with that many attributes."""
    return request([span(attributes=[KeyValue(key=f"k{number}") for number in range(count)])])
