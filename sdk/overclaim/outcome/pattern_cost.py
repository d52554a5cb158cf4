"""How long a regular expression may take, told from its parts before any text is seen.

A backtracking engine tries, at the worst, every way in which the parts of a pattern can share a text. The number of
ways is the product of those of the parts, times the length of the text for each repetition that has no end, and once
more for the place where a match may begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from math import factorial, prod
from typing import Any, Final, NamedTuple, cast

MAX_WAYS: Final = 100_000
MAX_ENDLESS: Final = 3
_STEPS: Final = 30_000_000  # about a tenth of a second
_MAX_TEXT: Final = 10_000
_REPEATS: Final = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_WRITE_IT: Final = "write it without, as several conditions"
_FORBIDDEN: Final = {
    "ASSERT": f"must not look ahead or back: {_WRITE_IT}",
    "ASSERT_NOT": f"must not look ahead or back: {_WRITE_IT}, or with not",
    "GROUPREF": f"must not refer back: {_WRITE_IT}",
    "GROUPREF_EXISTS": f"must not refer back: {_WRITE_IT}",
}


class Cost(NamedTuple):
    """ways: in how many ways its parts can match, repetitions without an end aside; endless: how many those are."""

    ways: int = 1
    endless: int = 0

    @property
    def text(self) -> int:
        """Of how long a text it comes to its end soon: n characters take ways * n^(endless + 1) / (endless + 1)!."""
        levels = self.endless + 1
        return min(_MAX_TEXT, int((_STEPS * factorial(levels) / self.ways) ** (1 / levels)))


@lru_cache(maxsize=256)
def cost(pattern: str) -> Cost:
    """The cost of a pattern.

    Raises:
        ValueError: it is none, or could take for ever; the message says why.
    """
    try:
        re.compile(pattern)
        found = _of_parts(_parsed(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    if found.endless > MAX_ENDLESS:
        raise ValueError(f"has more than {MAX_ENDLESS} of * and +: give them an end, such as {{1,20}}")
    if found.ways > MAX_WAYS:
        raise ValueError("could take for ever: repeat fewer times what repeats or chooses itself")
    return found


def _parsed(pattern: str) -> Iterable[tuple[Any, Any]]:
    return import_module("re._parser").parse(pattern)  # re's own view of a pattern; it has no public name


def _of_parts(parts: Iterable[tuple[Any, Any]]) -> Cost:
    found = [_of_part(str(kind), value) for kind, value in parts]
    return Cost(_capped(prod(one.ways for one in found)), sum(one.endless for one in found))


def _of_part(kind: str, value: Any) -> Cost:
    if kind in _FORBIDDEN:
        raise ValueError(_FORBIDDEN[kind])
    if kind in _REPEATS:
        return _of_repeat(*value)
    if kind == "BRANCH":
        branches = [_of_parts(one) for one in value[1]]
        return Cost(_capped(sum(one.ways for one in branches)), sum(one.endless for one in branches))
    if kind == "SUBPATTERN":
        return _of_parts(value[-1])
    return _of_parts(value) if kind == "ATOMIC_GROUP" else Cost()


def _of_repeat(low: int, high: int, inner: Iterable[tuple[Any, Any]]) -> Cost:
    one = _of_parts(inner)
    endless = high == cast("Any", import_module("re._constants")).MAXREPEAT
    if (endless and one.ways > 1) or (high > 1 and one.endless):
        raise ValueError("repeats a group that repeats or chooses itself, which can take for ever: write it without")
    if endless:
        return Cost(1, 1)
    return Cost(_times(one.ways, low, high), one.endless)


def _times(ways: int, low: int, high: int) -> int:
    """The sum of ways^k for k from low to high; anything above MAX_WAYS is too much."""
    if ways == 1:
        return _capped(high - low + 1)
    total = 0
    for times in range(low, high + 1):
        total = _capped(total + ways ** min(times, 64))
        if total > MAX_WAYS:
            break
    return total


def _capped(ways: int) -> int:
    return min(ways, MAX_WAYS + 1)
