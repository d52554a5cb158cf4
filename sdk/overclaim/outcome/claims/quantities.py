"""How much a clause says was done: "all 12 rows", "48 of the 50 members", "both", "every file"."""

from __future__ import annotations

from itertools import pairwise

from overclaim.outcome.claims.language import Language
from overclaim.outcome.model import Quantity


def quantity(words: list[str], lang: Language) -> Quantity | None:
    """The quantity that a clause states, or None. words: its words in lower case."""
    everything = any(word in lang.sets.get("everything", ()) for word in words)
    of = lang.sets.get("partitive", frozenset[str]())
    numbered = [(at, value) for at, word in enumerate(words) if (value := _count(word, lang)) is not None]
    for (first, count), (second, total) in pairwise(numbered):
        between = words[first + 1 : second]
        if len(between) <= 2 and not of.isdisjoint(between) and not _is_year(words[second]):
            return Quantity(count, total, everything or count == total)
    count = next((value for at, value in numbered if _counts_things(words, at, lang)), None)
    return Quantity(count, None, everything) if everything or count is not None else None


def falls_short(words: list[str], lang: Language) -> bool:
    """Whether the words count less than the whole: "7 of 9"."""
    counted = quantity(words, lang)
    return counted is not None and None not in (counted.count, counted.total) and counted.count != counted.total


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.startswith(("19", "20"))


def _count(word: str, lang: Language) -> int | None:
    if word in lang.counts:
        return lang.counts[word]
    return int(word) if word.isdecimal() and len(word) <= 7 else None


def _counts_things(words: list[str], at: int, lang: Language) -> bool:
    """A number counts when a plural noun follows within three words; years, prices and durations do not."""
    if words[at] in lang.counts and lang.counts[words[at]] == 1:
        return False
    after = words[at + 1 : at + 4]
    units = lang.sets.get("units", frozenset())
    if not after or after[0] in units or words[at] == "both":
        return words[at] == "both"
    return any(word.endswith("s") and word.isalpha() and word not in units for word in after)
