"""Bounded texts without secrets: whatever leaves the process as text goes through here.

Values are told apart by their types and read where they are stored, so no code of theirs runs: no `repr`, no
properties, no iterating of foreign containers. However large or deep they are, the work is bounded by what is kept.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from enum import Enum
from itertools import islice
from math import isfinite
from types import MemberDescriptorType
from typing import Any, Final, cast

from overclaim._secrets import MASK, is_secret_name, masked
from overclaim.outcome.results.payload import stored_items

MAX_TEXT = 2048
MAX_SMALL = 64
_MARGIN = 512
_DEPTH = 6
_ITEMS = 64
_MAX_BITS = 4096
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
# Classes of the standard library whose text is what they are.
_TELLING: Final = frozenset({
    ("decimal", "Decimal"), ("_pydecimal", "Decimal"), ("datetime", "datetime"), ("datetime", "date"),
    ("datetime", "time"), ("datetime", "timedelta"), ("uuid", "UUID"), ("fractions", "Fraction"),
    ("pathlib", "PosixPath"), ("pathlib", "PurePosixPath"), ("pathlib._local", "PosixPath"),
})  # fmt: skip
_SEQUENCES: Final[tuple[Any, ...]] = (list, tuple, set, frozenset)
_HOLDERS = (dict, list, tuple, set, frozenset, bytes, bytearray, memoryview)  # whose text may have no end
_NAMES = ("name", "key", "header", "field", "variable")
_VALUES = ("value", "val", "content", "data")


def scrub(text: str, limit: int = MAX_TEXT) -> str:
    """The text with secrets masked, at most `limit` characters, safe to encode as UTF-8."""
    # A secret that the cut would halve must still be recognised, hence the margin.
    head = masked(_head(text, limit + _MARGIN))
    if len(head) > limit or str.__len__(text) > limit + _MARGIN:
        head = head[: limit - 1] + "…"
    return head if head.isascii() else head.encode("utf-8", "replace").decode("utf-8")


def clean(text: str, limit: int = 256) -> str:
    """A name or id that a program or a model gave us: bounded, in one line, without secrets, and safe to encode.

    One lone surrogate would lose a whole batch; a model may call a tool by any text.
    """
    cut = _CONTROLS.sub("?", masked(_head(text, limit + _MARGIN)))[:limit]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode("utf-8")


def named(value: object, limit: int = 256) -> str:
    """The clean text of whatever a program gave as a name; "" where it has none to give."""
    kind = type(value)
    if issubclass(kind, str):
        return clean(cast("str", value), limit)
    if issubclass(kind, _HOLDERS):
        return kind.__name__
    try:
        return clean(str(value), limit)
    except Exception:  # its own code, or a number of too many digits
        return clean(kind.__name__, limit)


def small(value: object) -> str:
    """A value short enough and plain enough for a label: a number, a flag or a short clean text, else its type."""
    kind = type(value)
    if kind is str:
        return scrub(cast("str", value), MAX_SMALL)
    if value is None or kind is bool:
        return str(value)
    if issubclass(kind, int | float):
        return str(_number(value))[:MAX_SMALL]
    return clean(kind.__name__, MAX_SMALL)


def as_json(value: object, limit: int = MAX_TEXT) -> str:
    """The value as scrubbed JSON text of at most `limit` characters; plain text stays plain. Never calls repr."""
    if issubclass(type(value), str):
        return scrub(cast("str", value), limit)
    text = json.dumps(_Plain(limit).of(value, _DEPTH), ensure_ascii=False, allow_nan=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _head(text: str, length: int) -> str:
    """The beginning of a text as a plain `str`, whatever a subclass makes of slicing."""
    return str.__getitem__(text, slice(length))


def _number(value: object) -> object:
    """A number that JSON can hold, else a word for it."""
    if issubclass(type(value), int):
        whole = cast("int", value)
        return int.__add__(whole, 0) if int.bit_length(whole) <= _MAX_BITS else "<int>"
    return (
        float.__add__(cast("float", value), 0.0)
        if isfinite(cast("float", value))
        else float.__repr__(cast("float", value))
    )


class _Plain:
    """Makes one value plain, as far as there is room for it."""

    def __init__(self, room: int) -> None:
        self._room = room

    def of(self, value: object, depth: int) -> object:
        kind = type(value)
        self._room -= 1
        if value is None or kind is bool:
            return value
        if self._room < 0:
            return "…"
        if issubclass(kind, Enum):
            return self.of(object.__getattribute__(value, "_value_"), depth - 1) if depth else "…"
        if issubclass(kind, str):
            return self._text(cast("str", value))
        if issubclass(kind, int | float):
            return _number(value)
        return self._container(value, kind, depth) if depth else "…"

    def _text(self, value: str) -> str:
        text = scrub(value, min(MAX_TEXT, self._room + _ITEMS))
        self._room -= len(text)
        return text

    def _container(self, value: object, kind: Any, depth: int) -> object:
        if issubclass(kind, dict):
            return self._mapping(stored_items(value, _ITEMS), depth)
        items = _stored_sequence(value, kind)
        if items is None:
            return self._object(value, kind, depth)
        names = _field_names(kind)
        return self._mapping(zip(names, items, strict=False), depth) if names else self._sequence(items, depth)

    def _sequence(self, items: list[object], depth: int) -> list[object]:
        """The items; what follows the name of a secret in a pair, or a flag such as `--password`, is masked."""
        plain: list[object] = []
        for at, item in enumerate(items):
            before = _as_name(items[at - 1]) if at else ""
            told = before if before.startswith("-") or len(items) == 2 else ""
            plain.append(MASK if told and is_secret_name(told) and _may_hide(item) else self.of(item, depth - 1))
            if self._room < 0:
                break
        return plain

    def _mapping(self, items: Iterable[tuple[object, object]], depth: int) -> dict[str, object]:
        plain: dict[str, object] = {}
        pairs = list(items)
        hidden = _hidden_value(pairs)
        for key, item in pairs:
            name = _as_name(key)
            shown = self._text(name) if name else small(key)
            secret = is_secret_name(name or _in_key(key)) or name == hidden
            plain[shown] = MASK if secret and _may_hide(item) else self.of(item, depth - 1)
            if self._room < 0:
                break
        return plain

    def _object(self, value: object, kind: type, depth: int) -> object:
        if (text := _telling(value, kind)) is not None:
            return self._text(text)
        public = [(name, item) for name, item in _stored_fields(value, kind) if not name.startswith("_")]
        return self._mapping(public, depth) if public else f"<{clean(kind.__name__, MAX_SMALL)}>"


def _may_hide(item: object) -> bool:
    """Whether a value can be a secret: a flag or nothing cannot."""
    return item is not None and type(item) is not bool


def _as_name(key: object) -> str:
    """A key of text or bytes as a plain text, "" for others."""
    kind = type(key)
    if issubclass(kind, str):
        return _head(cast("str", key), MAX_TEXT)
    return cast("bytes", key)[:MAX_TEXT].decode("utf-8", "replace") if kind is bytes else ""


def _in_key(key: object) -> str:
    """The last name in a key of several parts."""
    return _as_name(cast("tuple[object, ...]", key)[-1]) if type(key) is tuple and key else ""


def _hidden_value(pairs: list[tuple[object, object]]) -> str | None:
    """The field that holds a secret which another field names: `{"name": "Authorization", "value": ...}`."""
    held = {_as_name(key).lower(): item for key, item in pairs[:_ITEMS]}
    if not any(is_secret_name(_as_name(held.get(one))) for one in _NAMES):
        return None
    return next((_as_name(key) for key, _ in pairs if _as_name(key).lower() in _VALUES), None)


def _stored_sequence(value: object, kind: type) -> list[object] | None:
    """The first items of a list, a tuple or a set, whatever a subclass makes of iterating; None for others."""
    for base in _SEQUENCES:
        if issubclass(kind, base):
            return list(islice(base.__iter__(value), _ITEMS))
    return None


def _field_names(kind: type) -> tuple[str, ...]:
    """The names of the fields of a named tuple, nothing for others."""
    names: object = kind.__dict__.get("_fields") if issubclass(cast("type[object]", kind), tuple) else None
    found = cast("tuple[object, ...]", names) if type(names) is tuple else ()
    return tuple(one for one in found if type(one) is str)


def _telling(value: object, kind: type) -> str | None:
    """The text of a value of the standard library such as a date, None for others."""
    place = kind.__module__, kind.__qualname__
    if place not in _TELLING or getattr(sys.modules.get(place[0]), place[1], None) is not kind:
        return None
    return str(value)


def _stored_fields(value: object, kind: type) -> list[tuple[str, object]]:
    """What an object holds, without asking it."""
    found: list[tuple[str, object]] = []
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        stored = None
    if type(stored) is dict:
        held = cast("dict[object, object]", stored)
        found += [(key, item) for key, item in islice(held.items(), _ITEMS) if type(key) is str]
    for base in kind.__mro__:
        for name, slot in islice(base.__dict__.items(), 4 * _ITEMS):
            if type(slot) is MemberDescriptorType and len(found) < _ITEMS and hasattr(slot, "__get__"):
                try:
                    found.append((name, slot.__get__(value)))
                except AttributeError:  # not set
                    continue
    return found
