"""The shape of a value: its keys and types, never its content. Two calls with the same shape look alike."""

from __future__ import annotations

from itertools import islice
from typing import cast

from overclaim._hashing import keyed_hash
from overclaim.outcome.results.payload import stored_items

_DEPTH = 3
_KEYS = 24

_LETTERS: dict[type, str] = {
    str: "s", int: "i", float: "f", bool: "b", bytes: "y", type(None): "n",
}  # fmt: skip


def shape_hash(value: object) -> str:
    """16 hex digits that stand for the key and type structure of a value."""
    return keyed_hash(describe(value, _DEPTH))


def describe(value: object, depth: int = _DEPTH) -> str:
    """The structure as text: `{amount:i,tags:[s]}`. Bounded in depth and width; sequences show their first item."""
    kind = type(value)  # never isinstance: that asks the value for its __class__, which may be its own code
    letter = _LETTERS.get(kind)
    if letter is not None:
        return letter
    if issubclass(kind, dict):
        return _describe_mapping(cast("dict[object, object]", value), depth)
    if issubclass(kind, list | tuple):
        return "[" + _describe_first(cast("list[object]", value), depth) + "]"
    return kind.__name__


def _describe_first(value: list[object], depth: int) -> str:
    return "".join(describe(item, depth - 1) for item in islice(value, 1)) if depth else ""


def _describe_mapping(value: dict[object, object], depth: int) -> str:
    if not depth:
        return "{}"
    pairs = stored_items(value, _KEYS)
    parts = sorted(f"{key if type(key) is str else '?'}:{describe(item, depth - 1)}" for key, item in pairs)
    return "{" + ",".join(parts) + "}"
