"""The texts and numbers of payloads, one by one: bounded in depth and in count, whatever these share or repeat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import cast

from overclaim.outcome.lexicon import words
from overclaim.outcome.words import split_name

Leaf = str | int | float

MAX_DEPTH = 8
MAX_NODES = 4_096  # values looked at in one payload
MAX_ITEMS = 256  # of one list or mapping
_MOST_NAME = 30  # characters in the name of a field with a count
_SCALARS = (str, int, float)


def leaves(values: Iterable[object]) -> Iterator[Leaf]:
    """The texts and numbers of payloads, the sizes of their lists, and their counts with the names: "rows_inserted=9".

    In order; what is shared comes each time.
    """
    ways, left = [iter(values)], MAX_NODES
    while ways:
        for value in ways[-1]:
            left -= 1
            if left < 0:
                return
            if isinstance(value, _SCALARS):
                yield value
            elif isinstance(value, (dict, Mapping)):
                fields = cast("Mapping[object, object]", value)
                yield from _counted(fields)
                if len(ways) < MAX_DEPTH:
                    ways.append(islice(fields.values(), MAX_ITEMS))
                    break
            elif isinstance(value, list | tuple | set | frozenset):
                listed = cast("list[object]", value)
                yield len(listed)
                if len(ways) < MAX_DEPTH:
                    ways.append(islice(listed, MAX_ITEMS))
                    break
        else:
            ways.pop()


def _counted(fields: Mapping[object, object]) -> Iterator[str]:
    for name, value in islice(fields.items(), MAX_ITEMS):
        if isinstance(value, str) or not isinstance(name, str) or len(name) >= _MOST_NAME:
            continue
        if (count := _size(value)) is not None and (counted := count_name(name)):
            yield f"{counted}={count}"


def _size(value: object) -> int | None:
    """A whole number, or how many a list holds."""
    if isinstance(value, list | tuple):
        return len(cast("list[object]", value))
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    return None


@lru_cache(maxsize=8_192)
def count_name(name: str) -> str:
    """The words of the name of a field that tells how many things were done, or wanted; "" for any other."""
    return "_".join(split_name(name)) if is_count(name, "done") or is_count(name, "wanted") else ""


@lru_cache(maxsize=8_192)
def is_count(name: str, kind: str) -> bool:
    """Whether a field of this name tells how many things were done: "rows_inserted", but not "created_at"."""
    parts = frozenset(split_name(name))
    return not parts.isdisjoint(words("arguments", kind)) and parts.isdisjoint(words("arguments", "no_counts"))
