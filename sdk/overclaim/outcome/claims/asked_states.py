"""States that are bad news of themselves, and what was wanted where the user asked for them: "the door is locked"."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from overclaim.outcome.claims.language import Language, language
from overclaim.outcome.model import Claim, Outcome, Reading

_SHORT = 12  # words of a clause that only says how something stands
_NEAR = 3  # words from "is" to the state
_OPEN = frozenset({"still", "already", "not", "never", "because", "since", "currently", "so"})


def as_asked(reading: Reading, wants: Collection[str]) -> Reading:
    """The reading, where all the trouble it tells is what the user wanted: "Suspend Bo." - "Bo is suspended.".

    wants: the actions that the user asked for. Where any other trouble is told, the state may be its cause.
    """
    code = reading.language or "en"
    if code != "en" or not any(map(_may_be_wanted, reading.claims)) or not wants:
        return reading
    claims = tuple(_done(claim, wants, language(code)) for claim in reading.claims)
    if claims == reading.claims or any(claim.outcome is not Outcome.SUCCESS for claim in claims):
        return reading
    return replace(reading, outcome=Outcome.SUCCESS, claims=claims)


def _may_be_wanted(claim: Claim) -> bool:
    return claim.outcome is Outcome.FAILURE and not claim.action


def _done(claim: Claim, wants: Collection[str], lang: Language) -> Claim:
    if not _may_be_wanted(claim):
        return claim
    words = [word for word in lang.words_of(claim.text) if word[0].isalnum()]
    told = words[:-1] if words[-1:] == ["now"] else words
    verb = lang.verbs.get(told[-1]) if told else None
    if verb is None or not verb.done or verb.action not in wants or len(words) > _SHORT or not _OPEN.isdisjoint(words):
        return claim
    stands = not lang.sets["be"].isdisjoint(told[-1 - _NEAR : -1])
    return replace(claim, outcome=Outcome.SUCCESS, action=verb.action) if stands else claim
