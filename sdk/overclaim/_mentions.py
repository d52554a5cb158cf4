"""What a call mentions, kept small while the run lives and read only when a claim is compared with it.

Reading identifiers and numbers out of a payload costs more than the call's span, and most runs make one claim
at their end. So a call keeps what it saw (bounded), and that is read then: small payloads of plain values as their
pickle, which is the fastest copy there is, of others the plain values that are in them.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NoReturn, cast

from overclaim.outcome.results.payload import stored_items

Kept = bytes | tuple[object, ...]
"""The payloads of a call as they are kept."""

_MOST_BYTES = 32_768
_VALUES = 256
_NAMED = 32  # numbers of one mapping that are kept with their names
_NAME = 40  # characters of such a name
_RECEIVERS = frozenset({"to", "recipient", "receiver", "payee", "beneficiary"})
_TEXT = 20_000
_DEPTH = 8
_BUDGET = 40_000  # characters
_LOOKS = 4096  # values of one payload that are looked at; what holds itself many times over has no end
_SEQUENCES: tuple[Any, ...] = (list, tuple, set, frozenset)
_NUMBERS = frozenset({int, float, bool})
_TEXTS = frozenset({str, bytes, bytearray})


def keep(*payloads: object) -> tuple[Kept, ...]:
    """What is kept of payloads until somebody reads it; no reference to them."""
    copy = _Copy()
    try:
        if any(map(_is_long, payloads)):  # it would be copied as a whole before its length is seen
            return (plain_values(*payloads),)
        _Pickler(copy, 4).dump(payloads)
        return (b"".join(copy.parts),)
    except Exception:  # too large, or more than plain values
        return (plain_values(*payloads),)


def kept_values(kept: Iterable[Kept]) -> tuple[object, ...]:
    """The plain values in what was kept."""
    values: list[object] = []
    for one in kept:
        values += plain_values(*pickle.loads(one)) if isinstance(one, bytes) else one
    return tuple(values)


def _is_long(payload: object) -> bool:
    """Whether a payload is a long text, or holds one among its first values."""
    kind = type(payload)
    if kind is str or kind is bytes:
        return len(cast("str", payload)) > _MOST_BYTES
    if kind is dict:
        inside: Any = cast("dict[Any, Any]", payload).values()
    elif kind is list:
        inside = cast("list[Any]", payload)
    else:
        return False
    return any(type(one) in _TEXTS and len(one) > _MOST_BYTES for one in islice(inside, _NAMED))


class _Copy:
    """A bounded buffer. Pickling writes in pieces, so what is too large is given up after the first ones."""

    __slots__ = ("_size", "parts")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._size = 0

    def write(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > _MOST_BYTES:
            raise OverflowError
        self.parts.append(part)


class _Pickler(pickle.Pickler):
    """Pickles plain values, and refuses all objects that would have a say in it."""

    def reducer_override(self, obj: Any) -> NoReturn:
        """Refuse it."""
        raise TypeError


def plain_values(*payloads: object) -> tuple[object, ...]:
    """The texts and numbers in payloads, at most 256, and how long their lists are; no reference to the rest.

    Before them stand the numbers that have names, with these, in a mapping for each payload.
    """
    found: list[object] = []
    for payload in payloads:
        _collect(payload, 1, found, [_LOOKS])
    if not found:
        return ()
    left = [_VALUES, _LOOKS]
    return (*(_named(payload, 1, left) for payload in payloads), *_affordable(found))


def _affordable(found: list[object]) -> Iterator[object]:
    """As many of the values as fit into the budget, for a run may have thousands of calls."""
    left = _BUDGET
    for value in found:
        left -= len(value) if isinstance(value, str) else 0
        if left < 0:
            return
        yield value


def _collect(value: object, depth: int, found: list[object], left: list[int]) -> None:
    """By types alone, and by what is stored: a value must not notice that somebody looks. left: values to look at."""
    left[0] -= 1
    if len(found) >= _VALUES or depth > _DEPTH or left[0] < 0:
        return
    kind = type(value)
    if issubclass(kind, str | int | float):
        found.append(_exact(value, kind))
    elif issubclass(kind, dict):
        for _, one in stored_items(value, _VALUES):
            _collect(one, depth + 1, found, left)
    elif (base := _sequence(kind)) is not None:
        found.append(base.__len__(value))
        for one in islice(base.__iter__(value), _VALUES):
            _collect(one, depth + 1, found, left)


def _sequence(kind: type) -> Any:
    """The built-in kind of sequence that this is, None for others."""
    return next((base for base in _SEQUENCES if issubclass(kind, base)), None)


def _exact(value: Any, kind: type) -> object:
    """A text, not too long, or a number, without what a subclass makes of it."""
    if issubclass(kind, str):
        return value if kind is str and len(value) <= _TEXT else str.__getitem__(value, slice(_TEXT))
    if kind in _NUMBERS:
        return value
    return int.__int__(value) if issubclass(kind, int) else float.__float__(value)


def _is_a(base: type, value: object) -> bool:
    """Whether a value is of a type, by its own type alone."""
    return issubclass(type(value), base)


def _named(payload: Any, depth: int, left: list[int]) -> dict[str, object]:
    """The numbers and sizes of lists in a mapping, and in what is in it, by their names, and who receives something."""
    kept: dict[str, object] = {}
    left[1] -= 1
    if depth > _DEPTH or left[1] < 0:
        return kept
    if _is_a(list, payload):
        return _named_rows(payload, depth, left)
    for name, value in stored_items(payload, _NAMED) if _is_a(dict, payload) else ():
        if left[0] > 0 and type(name) is str and len(name) < _NAME:
            found = _of_field(name, value, depth, left)
            if found is not None:
                kept[name] = found
                left[0] -= 1
    return kept


def _named_rows(payload: Any, depth: int, left: list[int]) -> dict[str, object]:
    inside: dict[str, object] = {}
    listed: Any = list
    rows: Iterator[Any] = islice(listed.__iter__(payload), left[0])
    for at, one in enumerate(rows):
        if (_is_a(dict, one) or _is_a(list, one)) and (row := _named(one, depth + 1, left)):
            inside[str(at)] = row
    return {"": {"": inside}} if inside else {}  # deep enough not to be taken for fields of the payload itself


def _of_field(name: str, value: Any, depth: int, left: list[int]) -> object:
    kind = cast("type[object]", type(value))
    if issubclass(kind, int | float):
        return _exact(value, kind)
    if issubclass(kind, str):
        return _exact(value, kind) if name in _RECEIVERS and str.__len__(value) < _NAME else None
    if issubclass(kind, list):
        listed: Any = list
        first: Any = next(listed.__iter__(value), None)
        rows = _named(value, depth + 1, left) if issubclass(type(first), dict | list) else None
        return rows or (None,) * min(listed.__len__(value), _VALUES)  # only how many there are
    return _named(value, depth + 1, left) or None
