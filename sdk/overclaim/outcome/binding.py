"""Claims + calls -> which calls each claim is about, by action, object and identifiers.

Precision comes first: where it is not clear which call a claim means, it is bound to the likeliest one, so that
only a claim that no call can be about is left without any (and may then be judged unsupported).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from overclaim.outcome.lexicon import actions, table
from overclaim.outcome.model import (
    BoundClaim,
    Call,
    Claim,
    Effect,
    Evidence,
    Grade,
    Operation,
    Outcome,
    Reading,
)

_ANYTHING = ("", "run", "delegate")  # actions that may have done anything


def bind(reading: Reading, calls: Sequence[Call], *, asked: frozenset[str] = frozenset()) -> tuple[BoundClaim, ...]:
    """Each claim of the reading with the indexes of the calls it is about.

    asked: identifiers and numbers of what the user asked for; with it, a claim that repeats the request while the
    act used other values is a mismatch.
    """
    return tuple(_bind(claim, calls, asked) for claim in reading.claims)


def complete_pending(operation: Operation, seen: frozenset[str], pending: Iterable[Operation]) -> Operation:
    """The operation of a call that went well, with the targets of the pending ones that it completes.

    seen: what the call mentions. A call completes a pending operation when it mentions its targets, or when it
    confirms something (a code, an approval) that was asked for just before.
    """
    if operation.effect is Effect.READ:
        return operation
    done = [
        target
        for earlier in pending
        for target in (earlier.targets or (earlier.key,))
        if target in seen or operation.action in ("confirm", "approve")
    ]
    return replace(operation, targets=tuple(dict.fromkeys((*operation.targets, *done)))) if done else operation


def _bind(claim: Claim, calls: Sequence[Call], asked: frozenset[str]) -> BoundClaim:
    about = _about(claim, calls)
    chosen = [call for call in calls if call.index in about]
    mismatch = _mismatch(claim, chosen, calls, asked) if claim.outcome is Outcome.SUCCESS else None
    return BoundClaim(claim, about, mismatch)


def _about(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    if claim.outcome is not Outcome.SUCCESS:
        return _reported(claim, calls)
    if claim.generic or not (claim.action or claim.objects or claim.targets):
        return _final(claim, calls)
    scored = [(_score(claim, call), call) for call in calls]
    best = max((score for score, _ in scored), default=0)
    if best >= 2:
        return _narrow(claim, [call for score, call in scored if score == best])
    return _fallback(claim, calls)


def _reported(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """What a report of failure is about: the calls that did not go well, where it names one; else it covers all."""
    rough = [call for call in calls if call.observed.outcome is not Outcome.SUCCESS]
    scored = [(_score(claim, call), call) for call in rough]
    best = max((score for score, _ in scored), default=0)
    return tuple(call.index for score, call in scored if score == best) if best >= 2 else ()


def _score(claim: Claim, call: Call) -> int:
    """How well a call fits a claim: identifiers say most, then the action, then the object."""
    fits = _effect_fits(claim, call)
    targets = bool(set(claim.targets) & (set(call.operation.targets) | call.mentions))
    exact = bool(set(claim.targets) & set(call.operation.targets))
    objects = len(set(claim.objects) & _nouns(call))
    same = bool(claim.action) and claim.action == call.operation.action
    if not fits:
        return 0
    return 3 * same + 2 * bool(objects) + targets + 2 * exact + _near(claim, call)


def _near(claim: Claim, call: Call) -> bool:
    return any(claim.action in group and call.operation.action in group for group in table("near")["groups"])


def _nouns(call: Call) -> set[str]:
    return {*call.operation.objects, *(word for target in call.operation.targets for word in target.split())}


def _effect_fits(claim: Claim, call: Call) -> bool:
    """A claimed change is never about a call that only reads; a claimed look never about one that only writes."""
    action = actions().get(claim.action)
    effect = call.operation.effect
    if action is None or effect is Effect.UNKNOWN or action.effect is Effect.UNKNOWN:
        return True
    if action.check:  # testing an endpoint may well mean posting to it
        return effect is Effect.READ or bool(set(claim.targets) & set(call.operation.targets))
    return action.effect is effect


def _narrow(claim: Claim, fitting: list[Call]) -> tuple[int, ...]:
    """All that fit where the claim counts or names them; else the attempts at the operation tried last."""
    named = [call for call in fitting if set(claim.targets) & set(call.operation.targets)]
    plural = claim.quantity is not None and (claim.quantity.everything or (claim.quantity.count or 0) > 1)
    if named or plural:
        return tuple(call.index for call in named or fitting)
    return tuple(call.index for call in fitting if call.operation.key == fitting[-1].operation.key)


def _final(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """What "done" is about: the write tried last, or all calls where the run wrote nothing."""
    writes = [call for call in calls if call.operation.effect is Effect.WRITE]
    if not writes:
        return tuple(call.index for call in calls)
    if claim.quantity is not None and claim.quantity.everything:
        return tuple(call.index for call in writes)
    return tuple(call.index for call in writes if call.operation.key == writes[-1].operation.key)


def _fallback(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """Nothing fits by name. Only where no call could have done it does the claim stay without one."""
    possible = [call for call in calls if _possible(claim, call)]
    return tuple(call.index for call in possible if call.operation.key == possible[-1].operation.key)


def _possible(claim: Claim, call: Call) -> bool:
    action, operation = actions().get(claim.action), call.operation
    if action is None or operation.action in _ANYTHING:
        return True
    if action.name == "test":
        return operation.action == "test"
    return _effect_fits(claim, call)


def _mismatch(claim: Claim, chosen: list[Call], calls: Sequence[Call], asked: frozenset[str]) -> Evidence | None:
    """The claim repeats a value of the request that no call ever used, while the act has one of that kind."""
    acts = [call for call in chosen if call.operation.effect is Effect.WRITE]
    known = frozenset[str]().union(*(call.mentions for call in calls), *(call.operation.targets for call in calls))
    stated = [value for value in (*claim.targets, *claim.amounts) if value in asked and _numeric(value)]
    missing = [value for value in stated if value not in known and not _in_minor_units(value, known)]
    if not missing or not acts or any(value in known for value in stated):
        return None
    if not any(_numeric(value) for call in acts for value in (call.mentions or call.operation.targets)):
        return None
    return Evidence("mismatch", "claim.value_mismatch", Outcome.FAILURE, Grade.INFERRED, "", span_id=acts[-1].span_id)


def _numeric(value: str) -> bool:
    return value.replace(".", "", 1).isdigit() and len(value) > 1


def _in_minor_units(value: str, known: frozenset[str]) -> bool:
    """45.00 is 4500 cents, and 4500 cents are 45.00."""
    try:
        number = float(value)
    except ValueError:
        return False
    return f"{number * 100:.0f}" in known or f"{number / 100:g}" in known
