"""Names with wildcards: whether a name fits, here, and as regular expressions for the store's engine."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from overclaim.outcome.tool_names import fits

_PART: Final = re.compile(r"(?P<any>\*+)|(?P<one>\?)|\[(?P<none>!?)(?P<set>\]?[^\]]*)\]|(?P<plain>.)", re.S)
_RANGE: Final = re.compile(r"(.)-(.)|.", re.S)


@lru_cache(maxsize=4096)
def fit(names: tuple[str, ...], given: str) -> bool:
    """Whether a tool's name is one of these. Patterns and names are few and calls many."""
    return any(fits(one, given) for one in names)


@lru_cache(maxsize=1024)
def pattern(names: tuple[str, ...]) -> str:
    """The expression, for Python and RE2 alike, that a name fits as a whole which is one of these.

    In each, `*` is any characters, `?` one, `[ab]` one of some, `[!ab]` one other than those; upper and lower case are
    one. It may take Python long; `fits` does not.

    Raises:
        ValueError: a choice in brackets makes no sense, such as [z-a].
    """
    made = f"(?si:{'|'.join(_translated(one) for one in names)})"
    try:
        re.compile(made)
    except re.error as error:
        raise ValueError(f"no names fit {' or '.join(names)!r} ({error}): correct what is in brackets") from error
    return made


def _translated(name: str) -> str:
    return "".join(_part(found) for found in _PART.finditer(name))


def _part(found: re.Match[str]) -> str:
    if found["any"]:
        return ".*"
    if found["one"]:
        return "."
    if found["set"] is not None:
        return f"[{'^' if found['none'] else ''}{_RANGE.sub(_range, found['set'])}]"
    return re.escape(found["plain"])


def _range(found: re.Match[str]) -> str:
    return f"{re.escape(found[1])}-{re.escape(found[2])}" if found[1] else re.escape(found[0])
