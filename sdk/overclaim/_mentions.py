"""What a call mentions, kept small while the run lives and read only when a claim is compared with it.

Reading identifiers and numbers out of a payload costs more than the call's span, and most runs make one claim
at their end. So a call keeps the plain values it saw (bounded), and they are read then.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import cast

_VALUES = 256
_TEXT = 20_000
_DEPTH = 8
_BUDGET = 40_000  # characters


def plain_values(*payloads: object) -> tuple[object, ...]:
    """The texts and numbers in payloads, at most 256, and how long their lists are; no reference to the rest."""
    found: list[object] = []
    for payload in payloads:
        _collect(payload, 1, found)
    return tuple(_affordable(found))


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
