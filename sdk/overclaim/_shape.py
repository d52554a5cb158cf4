"""The shape of a value: its keys and types, never its content. Two calls with the same shape look alike."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Any, cast

from overclaim._hashing import keyed_hash
from overclaim.outcome.results.payload import stored_items

_DEPTH = 3
_KEYS = 24
_NAME = 256
_LONGEST = 1000  # letters of keys of which the description is kept
_TEXT = frozenset({str})

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
        return _describe_mapping(cast("dict[Any, object]", value), depth)
    if issubclass(kind, list | tuple):
        return "[" + _describe_first(value, list if issubclass(kind, list) else tuple, depth) + "]"
    return kind.__name__[:_NAME]


def _describe_first(value: object, base: Any, depth: int) -> str:
    return "".join(describe(item, depth - 1) for item in islice(base.__iter__(value), 1)) if depth else ""


def _describe_mapping(value: dict[Any, object], depth: int) -> str:
    if not depth:
        return "{}"
    if type(value) is not dict or len(value) > _KEYS:
        value = dict(stored_items(value, _KEYS))
    keys = tuple(value)
    inside = tuple([_LETTERS.get(type(item)) or describe(item, depth - 1) for item in value.values()])
    if _TEXT.issuperset(map(type, keys)) and len("".join(keys)) <= _LONGEST:
        return _kept(keys, inside)
    return _joined(keys, inside)


def _joined(keys: tuple[Any, ...], inside: tuple[str, ...]) -> str:
    parts = (f"{key if type(key) is str else '?'}:{text}" for key, text in zip(keys, inside, strict=True))
    return "{" + ",".join(sorted(parts)) + "}"


_kept = lru_cache(maxsize=2048)(_joined)  # what a tool takes and gives has one shape, or a few
