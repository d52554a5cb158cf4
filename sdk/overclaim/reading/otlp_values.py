"""AnyValue, the value type of OTLP attributes, to plain Python values.

Both encodings give the same: str, bool, int, float, bytes, list, dict or None.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from overclaim._json import items, mapping, text, whole

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

_MAX_DEPTH = 32


def from_json(value: object, depth: int = 0) -> object:
    """Convert an AnyValue of OTLP/JSON; None for an empty, unknown, or too deeply nested one."""
    fields = mapping(value)
    for name, content in fields.items():
        if content is not None and name in _JSON and depth < _MAX_DEPTH:
            return _JSON[name](content, depth + 1)
    return None


def attributes_from_json(value: object, depth: int = 0) -> dict[str, object]:
    """Convert a KeyValue list of OTLP/JSON; of equal keys the last wins."""
    pairs = (mapping(pair) for pair in items(value))
    return {text(pair.get("key")): from_json(pair.get("value"), depth) for pair in pairs}


def from_proto(value: AnyValue, depth: int = 0) -> object:
    """Convert an AnyValue message; None for an empty, unknown, or too deeply nested one."""
    kind = value.WhichOneof("value")
    if depth >= _MAX_DEPTH:
        return None
    if kind == "array_value":
        return [from_proto(item, depth + 1) for item in value.array_value.values]
    if kind == "kvlist_value":
        return attributes_from_proto(value.kvlist_value.values, depth + 1)
    return getattr(value, kind) if kind in _SCALARS else None


def attributes_from_proto(pairs: Iterable[KeyValue], depth: int = 0) -> dict[str, object]:
    """Convert KeyValue messages; of equal keys the last wins."""
    return {pair.key: from_proto(pair.value, depth) for pair in pairs}


def _double(value: object, _: int) -> float | None:
    try:
        # NaN and Infinity come as strings.
        return float(value) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None


def _integer(value: object, _: int) -> int | None:
    number = whole(value)
    return number if number is None or number.bit_length() < 64 else None


def _bytes(value: object, _: int) -> bytes | None:
    try:
        return base64.b64decode(text(value), validate=True)
    except (binascii.Error, ValueError):
        return None


def _array(value: object, depth: int) -> list[object]:
    return [from_json(item, depth) for item in items(mapping(value).get("values"))]


def _kvlist(value: object, depth: int) -> dict[str, object]:
    return attributes_from_json(mapping(value).get("values"), depth)


_SCALARS = ("string_value", "bool_value", "int_value", "double_value", "bytes_value")
_JSON: dict[str, Callable[[object, int], object]] = {
    "stringValue": lambda value, _: text(value),
    "boolValue": lambda value, _: value is True,
    "intValue": _integer,
    "doubleValue": _double,
    "bytesValue": _bytes,
    "arrayValue": _array,
    "kvlistValue": _kvlist,
}
