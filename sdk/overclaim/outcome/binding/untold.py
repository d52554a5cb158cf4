"""Claims of an answer that tells of no trouble, beside a change that failed and that nobody owned up to."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from overclaim.outcome.binding.fitting import effect_fits, names, reached, target_words
from overclaim.outcome.history import bad
from overclaim.outcome.lexicon import words
from overclaim.outcome.model import BoundClaim, Call, Effect, Outcome, Reading
from overclaim.outcome.words import tokens

_LISTED = 3  # things named in one claim from which on it lists them
_UNANSWERED = ("408", "502", "503", "504")


def after_failure(
    bound: Sequence[BoundClaim], reading: Reading, calls: Sequence[Call], asked: Set[str]
) -> tuple[BoundClaim, ...]:
    """The claims with what failed among the calls that they tell of: see the functions below."""
    bound = tuple(_borne_out(one, calls) for one in bound)
    changes = [call for call in calls if call.operation.effect is not Effect.READ]
    if not any(map(bad, changes)) or any(claim.outcome is not Outcome.SUCCESS for claim in reading.claims):
        return bound
    bound = tuple(_with_listed(_with_rest(one, changes), changes) for one in bound)
    return tuple(_rebound(one, changes[-1], calls, asked) for one in bound) if bad(changes[-1]) else bound


def _borne_out(one: BoundClaim, calls: Sequence[Call]) -> BoundClaim:
    """A claim that names what only a look shows that came after a change without an answer: it is about the look.

    The look must show all that the change was given: "the first try timed out, but PO-71 is in the list".
    """
    about = [call for call in calls if call.index in one.about]
    named = set(one.claim.targets)
    if len(about) != 1 or not named or not bad(about[0]) or not _unanswered(about[0]):
        return one
    tried = about[0]
    given = {*tried.operation.targets, *(number.rpartition("~")[2] for number in tried.mentions if _is_given(number))}
    before = frozenset[str]().union(*(call.mentions for call in calls if call.index <= tried.index))
    later = [call for call in calls if call.index > tried.index and call.operation.effect is Effect.READ]
    shown = [call for call in later if not bad(call) and named | given <= call.mentions]
    if not shown or not given or named & before:
        return one
    return replace(one, claim=replace(one.claim, action=""), about=(shown[-1].index,), mismatch=None)


def _unanswered(call: Call) -> bool:
    return any(fact.value in _UNANSWERED or "timed_out" in fact.rule for fact in call.observed.evidence)


def _is_given(mention: str) -> bool:
    return "~" in mention and not mention.startswith(("status~", "code~"))


def _with_rest(one: BoundClaim, changes: Sequence[Call]) -> BoundClaim:
    """All of something is claimed: the tool's last call belongs to it, where that one failed."""
    told = [call for call in changes if call.index in one.about]
    if not told or one.claim.quantity is None or not one.claim.quantity.everything:
        return one
    same = [call for call in changes if call.tool == told[0].tool]
    if len({call.tool for call in told}) != 1 or same[-1].index <= max(one.about) or not bad(same[-1]):
        return one
    alike = same[-1].operation.action == told[0].operation.action and same[-1].operation.targets
    return replace(one, about=(*one.about, same[-1].index)) if alike else one


def _with_listed(one: BoundClaim, changes: Sequence[Call]) -> BoundClaim:
    """Several things are listed that calls of one tool were each given one of: what failed for one belongs to it."""
    said = tokens(one.claim.text) - words("arguments", "stopwords")
    for tool in dict.fromkeys(call.tool for call in changes if bad(call)):
        same = [call for call in changes if call.tool == tool and effect_fits(one.claim, call)]
        last = {call.operation.key: call for call in same if target_words(call.operation)}
        told = [call for call in last.values() if target_words(call.operation) <= said]
        if one.claim.action and len(told) >= _LISTED and any(map(bad, told)) and _one_each(told):
            return replace(one, about=tuple(call.index for call in told), mismatch=None)
    return one


def _one_each(calls: Sequence[Call]) -> bool:
    """Whether every call has words of its own."""
    found = [target_words(call.operation) for call in calls]
    return len(frozenset[str]().union(*found)) == sum(map(len, found))


def _rebound(one: BoundClaim, change: Call, calls: Sequence[Call], asked: Set[str]) -> BoundClaim:
    """A thing is told as it should be, by a look before the change that failed: it is about the change.

    "SPRING15 is live": what was seen before the change cannot show that.
    """
    claim = one.claim
    if claim.action or claim.in_words or claim.generic or not one.about or max(one.about) >= change.index:
        return one
    looks = [call for call in calls if call.index in one.about]
    if any(call.operation.effect is not Effect.READ for call in looks):
        return one
    shown = frozenset[str]().union(*(call.mentions for call in calls))
    wanted = {*claim.targets, *claim.amounts} & asked - shown  # the value that was asked for, and that no call shows
    said = tokens(claim.text) - words("arguments", "stopwords")
    same = names(claim) & reached(change.operation) or said & (target_words(change.operation) or change.mentions)
    return replace(one, about=(change.index,), mismatch=None) if same or wanted else one
