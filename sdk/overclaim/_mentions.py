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


def keep(*payloads: object) -> tuple[Kept, ...]:
    """What is kept of payloads until somebody reads it; no reference to them."""
    copy = _Copy()
    try:
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
        _collect(payload, 1, found)
    if not found:
        return ()
    left = [_VALUES]
    return (*(_named(payload, 1, left) for payload in payloads), *_affordable(found))


def _affordable(found: list[object]) -> Iterator[object]:
    """As many of the values as fit into the budget, for a run may have thousands of calls."""
    left = _BUDGET
    for value in found:
        left -= len(value) if isinstance(value, str) else 0
        if left < 0:
            return
        yield value


def _collect(value: object, depth: int, found: list[object]) -> None:
    if len(found) >= _VALUES or depth > _DEPTH:
        return
    if isinstance(value, str):
        found.append(value if len(value) <= _TEXT else value[:_TEXT])
    elif isinstance(value, int | float):
        found.append(value)
    elif isinstance(value, dict):
        for one in islice(cast("dict[object, object]", value).values(), _VALUES):
            _collect(one, depth + 1, found)
    elif isinstance(value, list | tuple | set | frozenset):
        items = cast("list[object]", value)
        found.append(len(items))
        for one in islice(items, _VALUES):
            _collect(one, depth + 1, found)


def _named(payload: object, depth: int, left: list[int]) -> dict[str, object]:
    """The numbers and sizes of lists in a mapping, and in what is in it, by their names, and who receives something."""
    kept: dict[str, object] = {}
    if depth > _DEPTH or not isinstance(payload, dict | list):
        return kept
    if isinstance(payload, list):
        inside: dict[str, object] = {}
        for at, one in enumerate(islice(cast("list[object]", payload), left[0])):
            if isinstance(one, (dict, list)) and (row := _named(cast("object", one), depth + 1, left)):
                inside[str(at)] = row
        return {"": {"": inside}} if inside else kept  # deep enough not to be taken for fields of the payload itself
    for name, value in islice(cast("dict[object, object]", payload).items(), _NAMED):
        if left[0] > 0 and isinstance(name, str) and len(name) < _NAME:
            found = _of_field(name, value, depth, left)
            if found is not None:
                kept[name] = found
                left[0] -= 1
    return kept


def _of_field(name: str, value: object, depth: int, left: list[int]) -> object:
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return value if name in _RECEIVERS and len(value) < _NAME else None
    if isinstance(value, list):
        items = cast("list[object]", value)
        rows = _named(items, depth + 1, left) if items and isinstance(items[0], dict | list) else None
        return rows or (None,) * min(len(items), _VALUES)  # only how many there are
    return _named(value, depth + 1, left) or None
