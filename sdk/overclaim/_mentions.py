"""What a call mentions, kept small while the run lives and read only when a claim is compared with it.

Reading identifiers and numbers out of a payload costs more than the call's span, and most runs make one claim
at their end. So a call keeps the plain values it saw (bounded), and they are read then.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import cast

_VALUES = 256
_NAMED = 32  # numbers of one mapping that are kept with their names
_NAME = 40  # characters of such a name
_TEXT = 20_000
_DEPTH = 8
_BUDGET = 40_000  # characters


def plain_values(*payloads: object) -> tuple[object, ...]:
    """The texts and numbers in payloads, at most 256, and how long their lists are; no reference to the rest.

    The numbers of a mapping keep their names. Where there is any value, the first is a mapping of those of the first
    payload, so that what is answered is never taken for what was asked.
    """
    found: list[object] = []
    for at, payload in enumerate(payloads):
        _collect(payload, 1, found)
        if not at and not (found and isinstance(found[0], dict)):
            found.insert(0, {})
    return tuple(_affordable(found)) if len(found) > 1 or found[:1] != [{}] else ()


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
        _collect_fields(cast("dict[object, object]", value), depth, found)
    elif isinstance(value, list | tuple | set | frozenset):
        items = cast("list[object]", value)
        found.append(len(items))
        for one in islice(items, _VALUES):
            _collect(one, depth + 1, found)


def _collect_fields(fields: dict[object, object], depth: int, found: list[object]) -> None:
    named: dict[str, int | float] = {}
    for name, value in islice(fields.items(), _NAMED):
        if isinstance(name, str) and len(name) < _NAME:
            if isinstance(value, int | float):
                named[name] = value
            elif isinstance(value, list | tuple):
                named[name] = len(cast("list[object]", value))
    if named:
        found.append(named)
    for one in islice(fields.values(), _VALUES):
        _collect(one, depth + 1, found)
