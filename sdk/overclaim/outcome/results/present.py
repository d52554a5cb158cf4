"""Refusals that say that what was asked for is there: "folder already exists", {"error": "already a member"}.

Whoever makes sure of a state has reached it, be it that nothing was left to do. To create something is more than that:
such a call made nothing, so it shows no creation, but neither is it a failure that somebody has to be told of.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from overclaim.outcome.model import Evidence, Grade, Outcome
from overclaim.outcome.results.context import Context
from overclaim.outcome.results.payload import plain
from overclaim.outcome.results.rules import line_pattern, tool_words
from overclaim.outcome.words import split_name

_MOST = 12
_LONGEST = 200
_KINDS = frozenset({"result_text", "result_flag"})


def present(found: list[Evidence], value: object, context: Context) -> list[Evidence]:
    """Evidence in a result, with one fact instead of its failures where all that it says is that the thing is there."""
    if not any(one.outcome is Outcome.FAILURE for one in found) or not (makes := _makes(context.tool)):
        return found
    if any(one.kind not in _KINDS for one in found if one.outcome is Outcome.FAILURE) or not _says_so(value):
        return found
    rest = [one for one in found if one.outcome is not Outcome.FAILURE]
    return [*rest, _made_nothing() if makes == "make" else _holds()]


def _made_nothing() -> Evidence:
    return Evidence("result_flag", "exists.already", Outcome.EMPTY, Grade.INFERRED)


def _holds() -> Evidence:
    return Evidence("result_flag", "exists.already", Outcome.SUCCESS, Grade.INFERRED)


@lru_cache(maxsize=1024)
def _makes(tool: str) -> str:
    """Whether a tool makes things, or makes sure of a state; "" where it does neither."""
    verbs = split_name(tool)
    if not tool_words("ensuring").isdisjoint(verbs):
        return "ensure"
    return "" if tool_words("making").isdisjoint(verbs) else "make"


def _says_so(value: object) -> bool:
    texts = list(islice(_texts(value), _MOST))
    return any(map(line_pattern("there_already").search, texts))


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    """The short texts of a result."""
    value = plain(value)
    if isinstance(value, str):
        if len(value) <= _LONGEST:
            yield value
    elif isinstance(value, dict) and depth < 2:
        for item in islice(cast("dict[Any, object]", value).values(), _MOST):
            yield from _texts(item, depth + 1)
