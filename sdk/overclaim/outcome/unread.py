"""What texts and payloads hold, read when somebody wants to know it: mostly nobody asks, and reading is dear.

Whether a name can be among the mentions of payloads is often told by their texts as they are: but for what reading
makes of numbers and of the names of fields, a mention is a piece of a text in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cached_property
from typing import TypeVar, cast

from overclaim.outcome.leaves import count_name, leaves
from overclaim.outcome.lexicon import words
from overclaim.outcome.mentions import MAX_SEARCHED, MAX_TEXT, mentions

T = TypeVar("T")

_FEW = 16  # names that are looked for one by one
_MOST_LOOKS = 8  # at the texts, before they are read after all
# What only a text can hold: with a letter, no number such as 1e-07 or inf, of characters that JSON has as they are.
_OF_TEXT = re.compile(r"(?!(?:\d+(?:\.\d+)?e[+-]?\d+|inf|nan)\Z)(?=[^a-z]*[a-z])[a-z0-9@./_+:-]+")
_ESCAPED = re.compile(r"\\[u/]")


class Late(Set[str]):
    """A set that is looked for when the first of it is asked for. find: looks for it."""

    def __init__(self, find: Callable[[], frozenset[str]]) -> None:
        self._find = find

    @cached_property
    def found(self) -> frozenset[str]:
        """All of it."""
        return self._find()

    def __contains__(self, name: object) -> bool:
        return name in self.found

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __and__(self, other: Set[object]) -> frozenset[str]:
        return self.found.intersection(cast("Set[str]", other))

    __rand__ = __and__

    def __or__(self, other: Set[T]) -> frozenset[str | T]:
        return self.found.union(other)

    __ror__ = __or__

    @classmethod
    def _from_iterable(cls, it: Iterable[T]) -> frozenset[T]:  # what the other operators of sets make
        return frozenset(it)


class Unread(Late):
    """The mentions of payloads as `mentions` has them; the payloads must stay as they are."""

    def __init__(self, *payloads: object) -> None:
        super().__init__(lambda: mentions(*payloads))
        self._payloads = payloads
        self._looks = _MOST_LOOKS

    def __contains__(self, name: object) -> bool:
        return not self._lacks((name,)) and name in self.found

    def __and__(self, other: Set[object]) -> frozenset[str]:
        lacking = not other or (len(other) <= _FEW and self._lacks(other))
        return frozenset() if lacking else super().__and__(other)

    __rand__ = __and__

    def _lacks(self, names: Iterable[object]) -> bool:
        """Whether the texts alone show that none of some names is among them. Copies of these are not kept."""
        if "found" in self.__dict__ or not self._looks or not all(map(_is_of_text, names)):
            return False
        self._looks -= 1
        for text in (text for payload in self._payloads for text in _texts_in(payload)):
            lower = text.lower()
            if _ESCAPED.search(text) or any(name in lower for name in cast("Iterable[str]", names)):
                return False
        return True


def _texts_in(payload: object) -> Iterator[str]:
    """The beginnings of the texts in a payload, which are what is searched for mentions."""
    if isinstance(payload, str):
        yield payload[:MAX_TEXT]
        return
    left = MAX_SEARCHED
    for leaf in leaves((payload,)):
        if left < 0:
            return
        if isinstance(leaf, str):
            yield leaf[:MAX_TEXT]
            left -= min(len(leaf), MAX_TEXT)


def _is_of_text(name: object) -> bool:
    """Whether it is a mention only where a text holds it; names of fields tell what was sent and counted, too."""
    if not isinstance(name, str) or not _OF_TEXT.fullmatch(name):
        return False
    return name not in words("near", "sent") and not count_name(name)
