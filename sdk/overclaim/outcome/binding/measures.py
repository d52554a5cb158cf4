"""Numbers that a claim tells with their unit, and receivers it names, against what the calls tell under that name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from overclaim.outcome.binding.answered import named_numbers
from overclaim.outcome.binding.fitting import same_deed
from overclaim.outcome.binding.seen import Seen, mentioned
from overclaim.outcome.history import bad
from overclaim.outcome.lexicon import words
from overclaim.outcome.mentions import normal_number
from overclaim.outcome.model import Call, Claim, Effect, Evidence, Grade, Outcome
from overclaim.outcome.words import singular, tokens

ROUNDED = 0.05  # the share by which a number may be rounded

_MEASURE = re.compile(r"(?<![\w.,:/#$€£-])(\d+(?:[.,]\d+)*) ?(%|[^\W\d_]{3,20})")
_STANDS_AT = re.compile(
    r"\b(?:is|are|stands at|reads|shows|has|ist|está|es|est|steht bei)(?: now| currently| at| only)* "
    r"(\d+(?:[.,]\d+)*) ?(%|[^\W\d_]{3,20})",
    re.I,
)
_RECEIVER = re.compile(r"\bto ([A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+)?)(?=[\s.,;!?)]|$)")
_PROPER = re.compile(r"to~([^\W\d_]+(?: [^\W\d_]+){0,2})")


def other_measure(seen: Seen) -> bool:
    """A number of some unit is claimed that no call mentions, while the act has one other number of that unit."""
    stated = _MEASURE.findall(seen.claim.text)
    if not stated or len(seen.acts) != 1 or not same_deed(seen.claim, seen.acts[0]):
        return False
    known = seen.readable and seen.whole
    return known and _is_other(stated, seen.claim, seen.acts[0], seen.calls, seen.asked)


def told_otherwise(claim: Claim, about: Sequence[Call], calls: Sequence[Call], asked: Set[str]) -> Evidence | None:
    """A state is told in a number of some unit, while the run's only look tells another: 78 percent full, not 23."""
    if claim.action or len(calls) != 1 or len(about) != 1 or about[0].operation.effect is not Effect.READ:
        return None
    stated = _STANDS_AT.findall(claim.text)
    if bad(about[0]) or len(stated) != 1 or not _is_other(stated, claim, about[0], calls, asked):
        return None
    return Evidence("mismatch", "quantity.other_value", Outcome.FAILURE, Grade.INFERRED, "", span_id=about[0].span_id)


def other_receiver(seen: Seen) -> bool:
    """Something is told to have gone to a person, while its act gave another one's name and nobody names the first."""
    stated = [name.lower() for name in _RECEIVER.findall(seen.claim.text)]
    if len(stated) != 1 or not seen.same_deed:
        return False
    given = {match[1] for act in seen.acts for match in map(_PROPER.fullmatch, act.mentions) if match}
    if len(given) != 1 or not seen.readable or not seen.whole:
        return False
    told, named = tokens(stated[0]), tokens(*given)
    if not told.isdisjoint(words("near", "no_persons")):
        return False
    if not named.isdisjoint(tokens(seen.claim.text)) or {one[0] for one in told} & {one[0] for one in named}:
        return False
    return not any(one in known for one in told for known in seen.known)


def _is_other(
    stated: Iterable[tuple[str, str]], claim: Claim, act: Call, calls: Sequence[Call], asked: Set[str]
) -> bool:
    if not words("near", "relative").isdisjoint(re.findall(r"\w+", claim.text.lower())):
        return False
    known = mentioned(calls) | asked
    return any(_differs(normal_number(number), unit, act, known) for number, unit in stated)


def _differs(stated: str, unit: str, act: Call, known: frozenset[str]) -> bool:
    names = _names(unit.lower())
    told = named_numbers(act.mentions, names)
    if len(told) != 1 or stated in known or not names.isdisjoint(words("near", "loose_units")):
        return False
    (real,), value = told, float(stated)
    if "percent" in names and abs(100 - real - value) < 0.6:
        return False  # what is left
    near = (real, 100 * real, real / 100)
    if any(abs(value - one) <= ROUNDED * max(one, 1) for one in near):
        return False
    return not _is_made_of(value, [float(one) for one in known if one.replace(".", "", 1).isdigit()])


def _names(unit: str) -> frozenset[str]:
    if unit in words("near", "percent"):
        return words("near", "percent")
    return frozenset({unit, singular(unit)})


def _is_made_of(value: float, known: Sequence[float]) -> bool:
    """Whether a number is the sum, the difference or the product of two known ones; of many nobody can tell."""
    if len(known) > 12:
        return True
    pairs = ((one, other) for one in known for other in known)
    return any(value in (one + other, one - other, one * other) for one, other in pairs if one != other or one > 2)
