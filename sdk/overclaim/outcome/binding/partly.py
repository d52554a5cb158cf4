"""Claims that say of one thing that it is done, beside the failure for another: "I paid INV-1 but not INV-2"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from overclaim.outcome.binding.fitting import nouns_of
from overclaim.outcome.history import Successes, bad
from overclaim.outcome.lexicon import words
from overclaim.outcome.model import BoundClaim, Call, Claim, Outcome

_MOST_TEXT = 400
_MOST_VALUE = 60
_MOST_CALLS = 32  # of one tool, well or badly ended, that are told apart
_PARTS = re.compile(
    r"[;,]|\b(?:but|while|whereas|though|although)\b|\band\b(?=\s+(?:left|skipped|no|not)\b)"
    r"|(?=\bnot\b(?!\s+(?:only|just|merely)\b))|(?=\b(?:except|excluding)\b)",
    re.I,
)
_MORE = re.compile(
    r"\band\b|&|\+|\b(?:as well as|plus|all|both|everyone|everybody|everything|each|every|rest|others)\b", re.I
)
_COUNTED = re.compile(r"([a-z]+)[=~](\d+)")
_PARTIAL = frozenset({"count.failed", "batch.item_failed", "count.shortfall"})


def partly(bound: Sequence[BoundClaim], calls: Sequence[Call]) -> tuple[BoundClaim, ...]:
    """The claims, without the failures for things that they do not name, or that they name as not done."""
    reports = " / ".join(one.claim.text for one in bound if one.claim.outcome is not Outcome.SUCCESS)
    return tuple(_partly(one, calls, reports[:_MOST_TEXT]) for one in bound)


def _partly(one: BoundClaim, calls: Sequence[Call], reports: str) -> BoundClaim:
    claim = one.claim
    if claim.outcome is not Outcome.SUCCESS or not one.about or one.mismatch is not None or claim.generic:
        return one
    if len(claim.text) > _MOST_TEXT or (claim.quantity is not None and claim.quantity.everything):
        return one
    failed = [call for call in calls if call.index in one.about and bad(call)]
    if not 0 < len(failed) <= _MOST_CALLS or any(map(Successes(calls).mend, failed)):
        return one
    if len(failed) == 1 and (_counts_done(claim, failed[0]) or _leaves_out(claim, failed[0], reports)):
        return replace(one, claim=replace(claim, action=""), about=())
    named = [_named_beside(claim, call, calls) for call in failed]
    return _about_named(one, failed, named) if all(named) else one


def _about_named(one: BoundClaim, failed: Sequence[Call], named: Sequence[list[Call]]) -> BoundClaim:
    """The claim, about the calls that went well and are named; about none where they are attempts at the same thing."""
    keys = {call.operation.key for call in failed}
    indexes = {call.index for calls in named for call in calls if call.operation.key not in keys}
    if not indexes:
        return replace(one, claim=replace(one.claim, action=""), about=())
    kept = set(one.about) - {call.index for call in failed if call.operation.key in keys}
    return replace(one, about=tuple(sorted(indexes | kept)))


def _named_beside(claim: Claim, failed: Call, calls: Sequence[Call]) -> list[Call]:
    """The calls of the same tool that went well and that the claim names, where it does not name the failed one."""
    good = [call for call in calls if call.tool == failed.tool and call.observed.outcome is Outcome.SUCCESS]
    told, _ = _told(claim.text)
    if not 0 < len(good) <= _MOST_CALLS or any(_holds(told, one) for call in good for one in _own(failed, call)):
        return []
    named = [call for call in good if any(_names(told, one) for one in _own(call, failed))]
    return [] if _MORE.search(told) else named


def _own(call: Call, other: Call) -> frozenset[str]:
    """What tells a call from another one of its tool: the values that only it mentions."""
    return _values(call) - _values(other)


def _values(call: Call) -> frozenset[str]:
    held = frozenset(one for one in (*call.mentions, *call.operation.targets) if 0 < len(one) <= _MOST_VALUE)
    return (held | {one.partition("@")[0] for one in held if "@" in one}) - nouns_of(call)


def _names(text: str, value: str) -> bool:
    """Whether a text holds a value as a name: with a digit, an @ or a capital letter in it."""
    found = _found(text, value)
    return found is not None and (any(char.isdigit() or char == "@" or char.isupper() for char in found[0]))


def _holds(text: str, value: str) -> bool:
    return _found(text, value) is not None


def _found(text: str, value: str) -> re.Match[str] | None:
    if value.lower() not in text.lower():
        return None
    return re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w-])", text, re.I)


@lru_cache(maxsize=256)
def _told(text: str) -> tuple[str, str]:
    """What a text says of what was done, and what it says of the rest: rejected, left alone, not done."""
    parts = [part for part in _PARTS.split(text) if part.strip()]
    against = [part for part in parts if not words("near", "kept_back").isdisjoint(re.findall(r"[a-z]+", part.lower()))]
    return " / ".join(part for part in parts if part not in against), " / ".join(against)


def _counts_done(claim: Claim, call: Call) -> bool:
    """Whether it counts what the answer counts as done: "eight letters went out" of {"sent": 8, "failed": 2}."""
    count = claim.quantity.count if claim.quantity is not None else None
    if count is None or not _only_in_part(call):
        return False
    counts = (match.groups() for match in map(_COUNTED.fullmatch, call.mentions) if match)
    return any(name in words("arguments", "done") and int(number) == count for name, number in counts)


def _leaves_out(claim: Claim, call: Call, reports: str) -> bool:
    """Whether it, or a report beside it, says of one of the things that the call was given that this was not done."""
    told, against = _told(claim.text)
    if not _only_in_part(call) or _MORE.search(told):
        return False
    values = [one for one in _values(call) if not one.isdigit() and not _COUNTED.fullmatch(one)]
    named = [one for one in values if _names(told, one)]
    left = [one for one in values if not _holds(told, one)]
    only = not words("near", "solely").isdisjoint(re.findall(r"[a-z]+", told.lower()))
    return bool(named) and (any(_names(f"{against} / {reports}", one) for one in left) or (only and bool(left)))


def _only_in_part(call: Call) -> bool:
    """Whether its answer says of some things that they failed, and nothing worse."""
    return bool(call.observed.evidence) and {one.rule for one in call.observed.evidence} <= _PARTIAL
