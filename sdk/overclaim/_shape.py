"""The shape of a value: its keys and types, never its content. Two calls with the same shape look alike."""

from __future__ import annotations

from overclaim._hashing import keyed_hash

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
    letter = _LETTERS.get(type(value))
    if letter is not None:
        return letter
    if isinstance(value, dict):
        return _describe_mapping(value, depth)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return "[" + (describe(value[0], depth - 1) if value and depth else "") + "]"  # pyright: ignore[reportUnknownArgumentType]
    return type(value).__name__


def _describe_mapping(value: dict[object, object], depth: int) -> str:
    if not depth:
        return "{}"
    keys = list(value)[:_KEYS]
    parts = [f"{key if type(key) is str else '?'}:{describe(value[key], depth - 1)}" for key in keys]
    parts.sort()
    return "{" + ",".join(parts) + "}"
