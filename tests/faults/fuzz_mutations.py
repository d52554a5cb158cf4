"""Ways to damage a request, of its structure and of its bytes. All choices come from one random generator."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from tests.conformance.cases import JSON
from tests.faults.fuzz_seeds import Seed

from overclaim_collector.receivers.inflate import zstd

_ODD_NUMBERS = [0, 1, -1, 255, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**40]
_ODD_TEXTS = ["", "0", "\x00", "\ud800", "é" * 50, "🙂", "1_0", "+5", "NaN", "-Infinity", "0" * 32, "zz", "x" * 5000]
_ODD_VALUES: list[Any] = [
    *_ODD_NUMBERS,
    *_ODD_TEXTS,
    None,
    True,
    [],
    {},
    [[]],
    [None],
    {"values": None},
    {"": {}},
    1.5,
    1e300,
    float("nan"),
    float("inf"),
    {"kvlistValue": {"values": [{}]}},
]
_ODD_BYTES = [
    b"",
    b"\x00",
    b"\xff" * 10,
    b"\x0a\x00",
    b"\x80" * 11,
    b"\x1f\x8b\x08",
    b"\xed\xa0\x80",
    b"{}",
    b"[" * 300,
]
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 1),
    "x-gzip": lambda body: gzip.compress(body, 1),
    "deflate": lambda body: zlib.compress(body, 1),
    "zstd": lambda body: zstd.compress(body, 1),
    "identity": bytes,
    "GZIP": lambda body: gzip.compress(body, 1),
}
_ODD_ENCODINGS = ["br", "gzip, gzip", "gzip;q=1", " ", "\xff", "deflate,"]
_INT = {FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_ENUM}
_INT |= {FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64}


def mutated(random: Random, seed: Seed, other: Seed) -> bytes:
    """A damaged body; sometimes it is whole."""
    body = seed.body
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        body = _structure(random, seed, body) if random.random() < 0.6 else _bytes(random, body, other.body)
    return body


def packed(random: Random, body: bytes) -> tuple[bytes, str]:
    """The body as it is sent, and its Content-Encoding; sometimes one of them is wrong."""
    if random.random() < 0.5:
        return body, ""
    name = random.choice(list(_PACKERS))
    sent = _PACKERS[name](body)
    if random.random() < 0.2:
        sent = _bytes(random, sent, body)
    if random.random() < 0.1:
        name = random.choice([*_ODD_ENCODINGS, *_PACKERS])
    return sent, name


def _structure(random: Random, seed: Seed, body: bytes) -> bytes:
    return _of_json(random, body) if seed.media_type == JSON else _of_protobuf(random, seed, body)


def _of_json(random: Random, body: bytes) -> bytes:
    try:
        data = json.loads(body)
    except ValueError:
        return body
    place, key = _place(random, data)
    if place is not None:
        _change(random, place, key)
    return json.dumps(data, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")


def _place(random: Random, data: Any) -> tuple[Any, Any]:
    """A container somewhere in the data and one of its keys."""
    found: tuple[Any, Any] = (None, None)
    while isinstance(data, dict | list) and data:
        keys = list(cast(dict[str, Any], data)) if isinstance(data, dict) else range(len(cast(list[Any], data)))
        found = (data, random.choice(list(keys)))
        if random.random() < 0.1:
            break
        data = data[found[1]]
    return found


def _change(random: Random, place: Any, key: Any) -> None:
    way = random.randrange(4)
    if way == 0:
        del place[key]
    elif way == 1 and isinstance(place, list):
        cast(list[Any], place).extend([place[key]] * random.choice((1, 2, 50)))
    elif way == 2 and isinstance(place, dict):
        place[random.choice(["", "Trace_id", f"{key}s", "__proto__", "traceId", "kind"])] = place.pop(key)
    else:
        place[key] = random.choice(_ODD_VALUES)


def _of_protobuf(random: Random, seed: Seed, body: bytes) -> bytes:
    try:
        message = seed.signal.request.FromString(body)
    except DecodeError:
        return body
    target = _submessage(random, message)
    field = random.choice(target.DESCRIPTOR.fields)
    with suppress(ValueError, TypeError, OverflowError):  # it cannot be put so wrongly
        _set(random, target, field)
    return message.SerializeToString()


def _submessage(random: Random, message: Any) -> Any:
    """A message somewhere inside."""
    while random.random() < 0.9:
        inside = [(field, value) for field, value in message.ListFields() if field.message_type]
        if not inside:
            break
        field, value = random.choice(inside)
        message = random.choice(list(value)) if field.is_repeated else value
    return message


def _set(random: Random, target: Any, field: Any) -> None:
    if random.random() < 0.2:
        target.ClearField(field.name)
    elif field.message_type:
        value = getattr(target, field.name)
        if field.is_repeated:
            value.extend([value[0] if value else value.add()] * random.choice((1, 3, 50)))
        else:
            value.SetInParent()
    elif field.is_repeated:
        getattr(target, field.name).append(_odd(random, field))
    else:
        setattr(target, field.name, _odd(random, field))


def _odd(random: Random, field: Any) -> Any:
    if field.cpp_type in _INT:
        return random.choice(_ODD_NUMBERS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return random.choice([*_ODD_BYTES, bytes(16), bytes(8), b"\x01" * 16, b"\x01" * 8])
    if field.type == FieldDescriptor.TYPE_STRING:
        return random.choice(_ODD_TEXTS)
    return random.choice((True, 0.0, -1.5, 1e308, float("nan"), float("inf")))


def _bytes(random: Random, body: bytes, other: bytes) -> bytes:
    """One change of the bytes."""
    start, end = sorted((random.randrange(len(body) + 1), random.randrange(len(body) + 1)))
    way = random.randrange(7)
    if way == 0 and body:
        at = random.randrange(len(body))
        return body[:at] + bytes([body[at] ^ 1 << random.randrange(8)]) + body[at + 1 :]
    if way == 1:
        return body[:start]
    if way == 2:
        return body[:start] + body[end:]
    if way == 3:
        return body[:start] + random.choice(_ODD_BYTES) + body[start:]
    if way == 4:
        return body[:start] + body[start:end] * random.choice((2, 3, 20)) + body[end:]
    if way == 5:
        return body[:start] + other[random.randrange(len(other) + 1) :]
    return body[:start] + random.randbytes(min(end - start, 40)) + body[end:]
