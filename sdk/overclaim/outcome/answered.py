"""Numbers that a call asks for and its answer tells otherwise: asked for qty 6, got qty 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import cast

from overclaim.outcome.words import split_name

MOST = 32  # fields looked at on each side

_ARROW = "->"


def answered_otherwise(asked: object, answers: Sequence[object]) -> Iterator[str]:
    """Mentions such as "discount_pct:15->10": the words of the answer's field, what was asked for, what it tells.

    The field of the answer ends in the word that the argument ends in, and no number of the answer is the one asked for.
    """
    told = [pair for answer in answers for pair in _numbers(answer)]
    known = {value for _, value in told}
    for name, wanted in _numbers(asked):
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


def _numbers(payload: object, depth: int = 0) -> Iterator[tuple[tuple[str, ...], float]]:
    """The numbers in a mapping, and in those right inside it, by the words of their names."""
    if not isinstance(payload, Mapping):
        return
    for name, value in islice(cast("Mapping[object, object]", payload).items(), MOST):
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**9:
            if words := split_name(str(name)):
                yield words, value
        elif depth < 1:
            yield from _numbers(value, depth + 1)
