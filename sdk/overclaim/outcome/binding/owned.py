"""The claims of one answer beside each other: a call that is one claim's deed is not, by the way, another's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from overclaim.outcome.binding.fitting import does, near, nouns_of, reached, same_deed, same_object, tells_sent
from overclaim.outcome.history import bad
from overclaim.outcome.lexicon import words
from overclaim.outcome.model import BoundClaim, Call, Effect, Evidence, Grade, Outcome


def apart(bound: Sequence[BoundClaim], calls: Sequence[Call]) -> tuple[BoundClaim, ...]:
    """The claims, without the calls that another claim tells better, and with the failures that only it mended."""
    return tuple(
        _alone(one, [other for other in bound if other is not one and _is_deed(other)], calls) for one in bound
    )


def _is_deed(one: BoundClaim) -> bool:
    return one.claim.outcome is Outcome.SUCCESS and not one.claim.generic and not one.claim.in_words


def _alone(one: BoundClaim, others: Sequence[BoundClaim], calls: Sequence[Call]) -> BoundClaim:
    if not others or not _is_deed(one) or one.mismatch is not None or not one.about:
        return one
    about = [call for call in calls if call.index in one.about]
    if one.claim.action in words("near", "distinct") and all(_is_others(one, others, call) for call in about):
        return replace(one, about=())
    return replace(one, mismatch=_mended_elsewhere(one, others, about, calls))


def _is_others(one: BoundClaim, others: Sequence[BoundClaim], call: Call) -> bool:
    """Whether a call is the deed of another claim, and this claim only names something that it reached, too."""
    if same_deed(one.claim, call) or same_object(one.claim, call) or call.operation.effect is not Effect.WRITE:
        return False
    if tells_sent(one.claim, call) or "run" in does(call):
        return False
    owners = (other.claim for other in others if call.index in other.about and other.claim.action != one.claim.action)
    return any(same_deed(owner, call) or near(owner, call) for owner in owners)


def _mended_elsewhere(
    one: BoundClaim, others: Sequence[BoundClaim], about: Sequence[Call], calls: Sequence[Call]
) -> Evidence | None:
    """The failure of the claimed deed, where what reached its target later is told as another deed on other things."""
    failed = [call for call in about if bad(call)]
    if not one.claim.action or not failed or len(failed) < len(about):
        return None
    keys, last = {call.operation.key for call in failed}, failed[-1]
    again = [call for call in calls if call.index > last.index and call.operation.key in keys]
    menders = list(_menders(failed, calls))
    if again or not menders or not all(_is_told_otherwise(one, others, failed, mender) for mender in menders):
        return None
    facts = [fact for fact in last.observed.evidence if fact.outcome is Outcome.FAILURE]
    value = facts[0].value if facts else ""
    return Evidence(
        "mismatch", "operation.last_outcome_failed", Outcome.FAILURE, Grade.INFERRED, value, span_id=last.span_id
    )


def _menders(failed: Sequence[Call], calls: Sequence[Call]) -> Iterator[Call]:
    """The changes after them that went well and reached one of their targets."""
    places = set[str]().union(*(reached(call.operation) for call in failed))
    for call in calls:
        later = call.index > failed[0].index and call.observed.outcome is Outcome.SUCCESS
        if later and call.operation.effect is not Effect.READ and reached(call.operation) & places:
            yield call


def _is_told_otherwise(one: BoundClaim, others: Sequence[BoundClaim], failed: Sequence[Call], mender: Call) -> bool:
    if any(mender.tool == call.tool for call in failed) or not any(mender.index in other.about for other in others):
        return False
    own = {*one.claim.objects}.union(*map(nouns_of, failed))
    return own.isdisjoint(nouns_of(mender))
