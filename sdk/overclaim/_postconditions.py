"""The postconditions that are declared: of which tools, and how they are asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final, NamedTuple

from overclaim.outcome.model import Outcome
from overclaim.outcome.tool_names import fits

MAX_SECONDS: Final = 60.0
_MOST: Final = 1024


class Answer(NamedTuple):
    """What a check came to, with a small value that shows it; an unknown outcome: it could not be answered."""

    outcome: Outcome
    value: str


@dataclass(frozen=True, slots=True)
class Check:
    """One postcondition: of which tools (a name or a pattern), how it is asked, and for how many seconds at most."""

    pattern: str
    name: str
    ask: Callable[[dict[str, Any], Any], object]
    timeout: float


class Checks:
    """The postconditions of this process: those of functions, and those of the expectations in force."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._declared: tuple[Check, ...] = ()
        self._expected: tuple[Check, ...] = ()
        self._known: dict[str, tuple[Check, ...]] = {}

    def declare(self, checks: Iterable[Check]) -> None:
        """Add those of a function. One that is declared anew, as in a notebook, takes the place of its older self."""
        added = tuple(checks)
        with self._changing:
            older = (one for one in self._declared if not any(_same(one, new) for new in added))
            self._declared = (*older, *added)
            self._known = {}

    def expect(self, checks: Iterable[Check]) -> None:
        """Put those of the expectations in the place of the ones that were there."""
        with self._changing:
            self._expected = tuple(checks)
            self._known = {}

    def forget(self) -> None:
        """Drop all of them."""
        with self._changing:
            self._declared = self._expected = ()
            self._known = {}

    def of(self, tool: str) -> tuple[Check, ...]:
        """Those of a tool."""
        if not self._declared and not self._expected:
            return ()
        remembered = self._known  # taken first: what is found is never remembered beyond the next change
        known = remembered.get(tool)
        if known is None:
            known = tuple(one for one in (*self._declared, *self._expected) if fits(one.pattern, tool))
            if len(remembered) < _MOST:
                remembered[tool] = known
        return known


def _same(one: Check, other: Check) -> bool:
    """Whether two checks are one, declared twice. Of lambdas and closures of one name there may be many."""
    if one.pattern != other.pattern:
        return False
    first, second = one.ask, other.ask
    if isinstance(first, FunctionType) and isinstance(second, FunctionType):
        named = first.__module__, first.__qualname__
        return first is second or ("<" not in first.__qualname__ and named == (second.__module__, second.__qualname__))
    return first == second


CHECKS: Final = Checks()
