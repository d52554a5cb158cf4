"""Counts that fall short with the whole told first: "50行中48行", "Von 50 Zeilen wurden 48 importiert"."""

from __future__ import annotations

from itertools import pairwise

from overclaim.outcome.claims.language import Language
from overclaim.outcome.model import Quantity

_NEAR = 4  # words between the whole and its mark
_FAR = 10  # words between the whole and the part
_LONGEST = 6  # digits of a count
_TEN = 10
_TENS = frozenset(range(20, 100, 10))
_JOINS = (["y"], ["e"])
_EVERY = (["every", "one", "of"], ["each", "one", "of"])


def part_of_whole(words: list[str], lang: Language) -> Quantity | None:
    """The part and the whole of a clause that tells the whole first, or None; "every one of the 9" is all of them.

    words: in lower case.
    """
    every = next((at for at in range(len(words) - 2) if words[at : at + 3] in _EVERY), None)
    if every is not None:
        return _all_after(words, every + 3, lang)
    numbered = [(at, value) for at, word in enumerate(words) if (value := _count(word, lang)) is not None]
    for (first, total), (second, count) in pairwise(numbered):
        if count < total and second - first <= _FAR and _is_whole(words, first, second, lang):
            return Quantity(count, total, False)
    return None


def _all_after(words: list[str], at: int, lang: Language) -> Quantity:
    return Quantity(next((value for word in words[at : at + 3] if (value := _count(word, lang))), None), None, True)


def joined(words: list[str], lang: Language) -> list[str]:
    """The words with numbers of two words as one: "twenty", "five" -> "25", "treinta", "y", "cinco" -> "35"."""
    if _TENS.isdisjoint(map(lang.counts.get, words)):
        return words
    found: list[str] = []
    at = 0
    while at < len(words):
        tens = lang.counts.get(words[at], 0)
        unit = at + 2 if words[at + 1 : at + 2] in _JOINS else at + 1
        ones = lang.counts.get(words[unit], 0) if unit < len(words) else 0
        both = tens in _TENS and 0 < ones < _TEN
        found.append(str(tens + ones) if both else words[at])
        at = unit + 1 if both else at + 1
    return found


def all_of(words: list[str], lang: Language) -> Quantity | None:
    """As in "alle 12", "todos los 12", "12件すべて": all of a number, told side by side, or None."""
    everything = lang.sets.get("everything", frozenset[str]())
    for at, word in enumerate(words):
        if word in lang.counts or not (word.isdecimal() and len(word) <= _LONGEST):
            continue
        if not everything.isdisjoint((*words[max(0, at - 2) : at], *words[at + 1 : at + 3])):
            return Quantity(int(word), None, True)
    return None


def _is_whole(words: list[str], at: int, end: int, lang: Language) -> bool:
    """Whether a mark of the whole stands after its number, or right before it, as the language has it."""
    after, before = lang.sets.get("total_first", frozenset[str]()), lang.sets.get("total_after", frozenset[str]())
    if not after.isdisjoint(words[at + 1 : min(end, at + 1 + _NEAR)]):
        return True
    opens = at < _NEAR  # "of the 50 rows, 48 ..." opens its clause; "the last of 3 tries at 2 am" does not
    return opens and not before.isdisjoint(words[max(0, at - 2) : at])


def _count(word: str, lang: Language) -> int | None:
    if word in lang.counts:
        return lang.counts[word]
    return int(word) if word.isdecimal() and len(word) <= _LONGEST else None
