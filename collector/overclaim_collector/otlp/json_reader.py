"""OTLP/JSON to the protobuf request, by OTLP's own rules where they differ from protobuf's JSON mapping.

Keys are lowerCamelCase only; trace and span ids are hex in any case; enums are integers only; 64-bit integers are
strings or numbers; null means absent; unknown keys are skipped.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from google.protobuf.descriptor import FieldDescriptor

from overclaim_collector.otlp.items import Refused
from overclaim_collector.refusal import invalid

MAX_NESTING = 100
_ITEM_FIELDS = frozenset({"spans", "log_records"})
_HEX_FIELDS = frozenset({"trace_id", "span_id", "parent_span_id"})
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_DIGITS = re.compile(r"-?[0-9]{1,40}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(body: bytes, kind: Any, misfits: list[Refused] | None = None) -> Any:
    """The request in a JSON body, without the items that have a field which does not fit.

    Args:
        body: the text.
        kind: the message type of the request.
        misfits: gets those items, with the cause.

    Raises:
        Refusal: INVALID, with the place and the cause; also where no item fits, since then the sender has it wrong.
    """
    data = _loads(body)
    if not isinstance(data, dict):
        raise invalid(f"the body is JSON, but a {type(data).__name__} and not an object")
    request, filler = kind(), _Filler([] if misfits is None else misfits)
    try:
        filler.fill(request, cast(dict[str, object], data), 0)
    except _Fault as fault:
        raise invalid(fault.said()) from fault
    if filler.refused and not filler.kept:
        raise invalid(filler.refused[0].reason)
    return request


def _loads(body: bytes) -> object:
    try:
        return json.loads(body.decode("utf-8-sig"))  # JSON is UTF-8; json would guess UTF-16, too
    except RecursionError:
        raise invalid("the body is JSON nested too deep") from None
    except ValueError as error:  # UnicodeDecodeError is one
        raise invalid(f"the body is not valid JSON: {error}") from error


class _Fault(Exception):
    """A value that does not fit. Its path is gathered on the way out, so that good requests do not pay for it."""

    def __init__(self, cause: Exception | str) -> None:
        super().__init__(cause)
        self.path: list[str] = []

    def said(self) -> str:
        """Place and cause."""
        return f"{''.join(reversed(self.path)).lstrip('.')[:200]}: {self.args[0]}"[:400]


_MISFITS = (_Fault, ValueError, TypeError, OverflowError)


def _placed(error: Exception, step: str) -> _Fault:
    fault = error if isinstance(error, _Fault) else _Fault(error)
    fault.path.append(step)
    return fault


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    read: Callable[[object], Any] | None  # None: a message
    repeated: bool


@cache
def _fields(descriptor: Any) -> dict[str, _Field]:
    """The fields of a message type by their JSON names."""
    return {field.json_name: _Field(field.name, _reader(field), field.is_repeated) for field in descriptor.fields}


def _reader(field: Any) -> Callable[[object], Any] | None:
    return _hex if field.name in _HEX_FIELDS else _READERS.get(field.type)


@dataclass(slots=True)
class _Filler:
    """Puts JSON into messages. A span or log record that does not fit is left out: the others are none the worse."""

    refused: list[Refused]
    kept: int = 0

    def fill(self, message: Any, data: dict[str, object], depth: int) -> None:
        if depth > MAX_NESTING:
            raise _Fault(f"nested deeper than {MAX_NESTING} levels")
        fields = _fields(message.DESCRIPTOR)
        for key, value in data.items():
            field = fields.get(key)
            if field is None or value is None:
                continue
            try:
                self._set(message, field, value, depth)
            except _MISFITS as error:
                raise _placed(error, f".{key}") from None

    def _set(self, message: Any, field: _Field, value: object, depth: int) -> None:
        if field.repeated:
            self._extend(getattr(message, field.name), field, value, depth)
        elif field.read is None:
            target = getattr(message, field.name)
            target.SetInParent()
            self.fill(target, _object(value), depth + 1)
        else:
            setattr(message, field.name, field.read(value))

    def _extend(self, target: Any, field: _Field, items: object, depth: int) -> None:
        if not isinstance(items, list):
            raise ValueError(f"a list is needed, not {_shown(items)}")
        for index, item in enumerate(cast(list[object], items)):
            try:
                if field.read is None:
                    self.fill(target.add(), _object(item), depth + 1)
                else:
                    target.append(field.read(item))
            except _MISFITS as error:
                if field.name not in _ITEM_FIELDS:
                    raise _placed(error, f"[{index}]") from None
                del target[-1]
                self.refused.append(Refused(_said(error), _text(item)))
        self.kept += len(target) if field.name in _ITEM_FIELDS else 0


def _text(item: object) -> bytes:
    try:
        return json.dumps(item).encode()
    except RecursionError:
        return b'"nested too deep to be shown"'


def _said(error: Exception) -> str:
    return error.said() if isinstance(error, _Fault) else str(error)[:400]


def _object(value: object) -> dict[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"an object is needed, not {_shown(value)}")
    return cast(dict[str, object], value)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a string is needed, not {_shown(value)}")
    # Half of a surrogate pair is legal JSON and no legal text: keep the rest of the string.
    return _SURROGATE.sub("\ufffd", value) if not value.isascii() else value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false is needed, not {_shown(value)}")
    return value


def _integer(low: int, high: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str | float):
            raise ValueError(f"an integer is needed, not {_shown(value)}")
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(f"an integer is needed, not {_shown(value)}")
        if isinstance(value, str) and not _DIGITS.fullmatch(value):
            raise ValueError(f"an integer is needed, not {_shown(value)}")
        number = int(value)
        if not low <= number <= high:
            raise ValueError(f"{_shown(value)} is outside {low}..{high}")
        return number

    return read


def _enum(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"enums are integers in OTLP/JSON, not {_shown(value)}")
    return _INT32(value)


def _double(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"a number is needed, not {_shown(value)}")
    number = float(value)
    if isinstance(value, str) and not math.isfinite(number) and value not in ("NaN", "Infinity", "-Infinity"):
        raise ValueError(f"a number is needed, not {_shown(value)}")
    return number


def _bytes(value: object) -> bytes:
    text = _string(value)
    padded = text + "=" * (-len(text) % 4)
    return urlsafe_b64decode(padded) if "-" in text or "_" in text else b64decode(padded, validate=True)


def _hex(value: object) -> bytes:
    text = _string(value)
    if not _HEX.fullmatch(text):
        raise ValueError(f"ids are hexadecimal in OTLP/JSON, not {_shown(value)}")
    return bytes.fromhex(text)


def _shown(value: object) -> str:
    return repr(value)[:60]


_INT32 = _integer(-(1 << 31), (1 << 31) - 1)
_UINT32 = _integer(0, (1 << 32) - 1)
_INT64 = _integer(-(1 << 63), (1 << 63) - 1)
_UINT64 = _integer(0, (1 << 64) - 1)
_READERS: dict[Any, Callable[[object], Any]] = {
    FieldDescriptor.TYPE_STRING: _string,
    FieldDescriptor.TYPE_BOOL: _boolean,
    FieldDescriptor.TYPE_BYTES: _bytes,
    FieldDescriptor.TYPE_ENUM: _enum,
    FieldDescriptor.TYPE_DOUBLE: _double,
    FieldDescriptor.TYPE_INT32: _INT32,
    FieldDescriptor.TYPE_UINT32: _UINT32,
    FieldDescriptor.TYPE_FIXED32: _UINT32,
    FieldDescriptor.TYPE_INT64: _INT64,
    FieldDescriptor.TYPE_UINT64: _UINT64,
    FieldDescriptor.TYPE_FIXED64: _UINT64,
}
