"""English words in names: splitting a tool's name into words, and the singular of a noun."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-zß-öø-ÿ]+|[A-Z]+|[^\W\d_]+|\d+")
_TOKEN = re.compile(r"[^\W_]+")
_STAY = ("ss", "us", "is", "news", "series")


@lru_cache(maxsize=4096)
def split_name(name: str) -> tuple[str, ...]:
    """The words of an identifier in lower case: camelCase, snake_case, kebab-case, dots and slashes."""
    return tuple(word.lower() for word in _WORD.findall(name[:200]))


@lru_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    """The words of a text in lower case, split at everything but letters and digits."""
    return frozenset(_TOKEN.findall(text[:400].lower()))


def singular(noun: str) -> str:
    """The singular of an English noun by its ending; a noun it does not know stays as it is."""
    if len(noun) < 4 or noun.endswith(_STAY):
        return noun
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    if noun.endswith(("ches", "shes", "xes", "sses", "zes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") else noun
