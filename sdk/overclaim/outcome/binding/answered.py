"""Numbers with the names that a call gives them, and those its answer tells otherwise: asked for qty 6, got qty 4."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import cast

from overclaim.outcome.lexicon import words
from overclaim.outcome.words import split_name

MOST = 32  # fields looked at on each side

RECEIVERS = frozenset({"to", "recipient", "receiver", "payee", "beneficiary"})

_WRAPPERS = frozenset({"data", "result", "response", "body", "payload", "output", "content"})
_ARROW = "->"
_NAMED = "~"
_PERSON = re.compile(r"[A-Z][^\W\d_]*(?: [A-Z][^\W\d_]*){0,2}")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")


def answered_otherwise(asked: object, answers: Sequence[object]) -> Iterator[str]:
    """Mentions such as "discount_pct:15->10": the words of the answer's field, what was asked for, what it tells.

    The words of what a field is inside of count as its own: "event_seats".
    Numbers of fields with the name of a thing or a unit are mentioned with it: "points~150".
    The field of the answer ends in the word that the argument ends in, and no number of the answer is the asked one.
    """
    told = [pair for answer in answers for pair in _numbers(answer)]
    known = {value for _, value in told}
    given = list(_numbers(asked))
    yield from (f"{name[-1]}{_NAMED}{value:g}" for name, value in (*given, *told) if _is_noun(name[-1]))
    yield from _receivers(asked)
    yield from (" ".join(name) for answer in answers for name in _flags(answer) if name[-1] in words("near", "sent"))
    for name, wanted in given:
        fields = [(field, value) for field, value in told if field[-1] == name[-1]]
        if wanted not in known and len(fields) == 1:
            field, value = fields[0]
            more = [word for word in field if word not in name]
            yield f"{'_'.join(more)}:{wanted:g}{_ARROW}{value:g}"


def answers(mention: str) -> tuple[tuple[str, ...], str, str]:
    """The further words of the answer's field, what was asked for and what was told; "" where it is no such mention."""
    name, colon, numbers = mention.partition(":")
    wanted, arrow, got = numbers.partition(_ARROW)
    if not colon or not arrow:
        return (), "", ""
    return tuple(word for word in name.split("_") if word), wanted, got


def named_numbers(mentions: Iterable[str], names: Collection[str]) -> set[float]:
    """The numbers that mentions tell under one of these names."""
    parts = (one.partition(_NAMED) for one in mentions if _NAMED in one)
    return {float(value) for name, _, value in parts if name in names and _PLAIN.fullmatch(value)}


def _flags(answer: object) -> Iterator[tuple[str, ...]]:
    """The names of the fields that are true, by their words: {"email_sent": true}."""
    if not isinstance(answer, Mapping):
        return
    for name, value in islice(cast("Mapping[object, object]", answer).items(), MOST):
        if value is True and (parts := split_name(str(name))):
            yield parts


def _receivers(asked: object) -> Iterator[str]:
    """The names of people among the arguments to whom something goes: "to~bo"."""
    if not isinstance(asked, Mapping):
        return
    for name, value in islice(cast("Mapping[object, object]", asked).items(), MOST):
        if name in RECEIVERS and isinstance(value, str) and _PERSON.fullmatch(value):
            yield f"to{_NAMED}{value.lower()}"


@lru_cache(maxsize=2_048)
def _is_noun(name: str) -> bool:
    return len(name) > 2 and name.isalpha() and name not in words("arguments", "identifying")


def _numbers(payload: object, within: tuple[str, ...] | None = None) -> Iterator[tuple[tuple[str, ...], float]]:
    """The numbers in a mapping, and in those right inside it, by the words of their names; within: of that one's."""
    if not isinstance(payload, Mapping):
        return
    for name, value in islice(cast("Mapping[object, object]", payload).items(), MOST):
        parts = split_name(str(name))
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**9:
            if parts:
                yield (*(within or ()), *parts), value
        elif within is None and parts:
            yield from _numbers(value, () if parts[-1] in _WRAPPERS else parts)
