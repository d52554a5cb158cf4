"""Arguments of a tool as the rules may read them: plain values, made by types and from what is stored.

The rules ask values what they are. An object of the program may answer that with its own code: a lazy object of a web
framework asks its database, a collection of an ORM loads its rows. None of that may happen because somebody watches.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final, cast

from overclaim.outcome.results.payload import OPAQUE, plain

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_DEPTH: Final = 6
_ITEMS: Final = 64
_MOST: Final = 512
_TEXT: Final = 1_000_000


def readable(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments themselves where all of them are plain, else a plain copy of the first of them."""
    if _PLAIN.issuperset(map(type, arguments.values())):
        return arguments
    left = [_MOST]
    if all(_is_plain(value, _DEPTH, left) for value in islice(arguments.values(), _ITEMS)):
        return arguments
    left = [_MOST]
    return {str(name): _copy(value, _DEPTH, left) for name, value in islice(arguments.items(), _ITEMS)}


def _is_plain(value: object, depth: int, left: list[int]) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return True
    left[0] -= 1
    if depth == 0 or left[0] < 0:
        return True  # nobody reads as far as that
    if kind is dict:
        held = cast("dict[object, object]", value)
        return all(type(key) is str and _is_plain(one, depth - 1, left) for key, one in islice(held.items(), _ITEMS))
    if kind is list:
        return all(_is_plain(one, depth - 1, left) for one in islice(cast("list[object]", value), _ITEMS))
    return False


def _copy(value: object, depth: int, left: list[int]) -> object:
    """A plain copy; what shows nothing, or lies too deep, is kept out of sight."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    left[0] -= 1
    if depth == 0 or left[0] < 0:
        return OPAQUE
    if issubclass(kind, str):
        return str.__getitem__(cast("str", value), slice(_TEXT))
    if issubclass(kind, int):
        return int.__int__(cast("int", value))
    if issubclass(kind, float):
        return float.__float__(cast("float", value))
    shown = plain(value)
    if type(shown) is dict:
        held = cast("dict[object, object]", shown)
        return {key: _copy(one, depth - 1, left) for key, one in islice(held.items(), _ITEMS) if type(key) is str}
    if type(shown) is list:
        return [_copy(one, depth - 1, left) for one in islice(cast("list[object]", shown), _ITEMS)]
    return shown if type(shown) in _PLAIN else OPAQUE
