"""The deeds of one clause that tells several side by side: "the fields are updated, a note is added, and pushed"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from overclaim.outcome.claims.language import language
from overclaim.outcome.lexicon import actions, words
from overclaim.outcome.mentions import identifiers, numbers
from overclaim.outcome.model import Claim, Effect, Outcome
from overclaim.outcome.words import singular

MOST_PARTS = 6
MAX_TEXT = 400

_BETWEEN = re.compile(r",\s+(?:and\s+)?|;\s+|\s+and\s+")
_LEAD = re.compile(r"^(?:done|all set|all done|finished|update)[:,.!]\s+", re.I)
_PASSIVE = re.compile(
    r"^((?:[^\W\d_][\w'’-]*\s+){1,6})(?:is|are|was|were|has been|have been)\s+(?:now\s+|also\s+|all\s+)?([a-z]+)\b",
    re.I,
)
_ALONE = re.compile(r"^([a-z]+ed)[.!]?$")
_OPEN = frozenset(
    ("if", "once", "when", "until", "unless", "after", "before", "because", "that", "which", "who", "not", "no",
     "nothing", "none", "whether")
)  # fmt: skip


def listed(claim: Claim) -> tuple[Claim, ...]:
    """The claim, and for each deed that its clause tells beside others one of its own."""
    if claim.outcome is not Outcome.SUCCESS or claim.in_words or len(claim.text) > MAX_TEXT:
        return (claim,)
    if "," not in claim.text and " and " not in claim.text:
        return (claim,)
    text = _LEAD.sub("", claim.text)
    parts = _BETWEEN.split(text)[:MOST_PARTS]
    if not _OPEN.isdisjoint(re.findall(r"[a-z]+", text.lower())):
        return (claim,)
    found = [one for one in (_part(claim, part) for part in parts) if one is not None]
    others = {one.action for one in found} - {claim.action}
    if len(parts) < 2 or not others or len(found) < (1 if claim.action else 2):
        return (claim,)
    return (claim, *found)


def _part(claim: Claim, part: str) -> Claim | None:
    forms = language("en").verbs
    told = _PASSIVE.match(part) or _ALONE.match(part)
    verb = forms.get(told[told.lastindex or 1].lower()) if told else None
    if told is None or verb is None or not verb.done or verb.action not in actions():
        return None
    if actions()[verb.action].effect is not Effect.WRITE:
        return None
    subject = told[1] if told.re is _PASSIVE else ""
    own = frozenset(identifiers(part))
    kept = set(numbers(part))
    return replace(
        claim,
        action=verb.action,
        objects=tuple(_nouns(subject)),
        targets=tuple(one for one in claim.targets if one in own),
        amounts=tuple(one for one in claim.amounts if one in kept),
        quantity=None,
        text=part,
        own=claim.own and told.re is not _PASSIVE,
    )


def _nouns(subject: str) -> Iterator[str]:
    skip = words("arguments", "stopwords")
    yield from (singular(word) for word in re.findall(r"[a-z]{3,}", subject.lower()) if word not in skip)
