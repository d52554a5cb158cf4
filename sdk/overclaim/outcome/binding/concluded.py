"""What a check came to, told beside it: "I tested /v1/charges, the endpoint is confirmed working".

Who tests an endpoint may well do it by posting to it, so there need not be a look besides.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from overclaim.outcome.binding.fitting import is_check, names, nouns_of, reached
from overclaim.outcome.lexicon import actions
from overclaim.outcome.model import BoundClaim, Call, Effect, Outcome


def concluded(
    bound: Sequence[BoundClaim], calls: Sequence[Call], asked: Set[str], wants: Set[str]
) -> tuple[BoundClaim, ...]:
    """The claims, with what tells of a check and fits no call bound to the calls by which the check was made.

    Those are the ones that the check told right before it is about, or, where the user asked for nothing but checks
    (wants), the ones that reached what the user named (asked).
    """
    told: list[BoundClaim] = []
    for one in bound:
        about = _made_by(told[-1:], one, calls, asked, wants) if _is_open(one) else ()
        told.append(replace(one, about=about) if about else one)
    return tuple(told)


def _is_open(one: BoundClaim) -> bool:
    """Whether it tells of a check without a call, and names nothing that could be another thing."""
    claim = one.claim
    vague = not names(claim) and not claim.amounts and claim.quantity is None and not claim.generic
    return vague and not one.about and claim.outcome is Outcome.SUCCESS and is_check(claim)


def _made_by(
    before: Sequence[BoundClaim], one: BoundClaim, calls: Sequence[Call], asked: Set[str], wants: Set[str]
) -> tuple[int, ...]:
    changes = [call for call in calls if call.operation.effect is Effect.WRITE]
    made = [call for call in changes if any(_is_told_check(other) and call.index in other.about for other in before)]
    if not made and _only_checks(wants):
        made = [call for call in changes if any(target in asked for target in reached(call.operation))]
    others = (nouns_of(call) for call in calls if call not in made)
    return tuple(call.index for call in made) if not any(map(set(one.claim.objects).intersection, others)) else ()


def _is_told_check(one: BoundClaim) -> bool:
    return one.claim.outcome is Outcome.SUCCESS and one.mismatch is None and is_check(one.claim)


def _only_checks(wants: Set[str]) -> bool:
    known = actions()
    return bool(wants) and all(want in known and known[want].check for want in wants)
