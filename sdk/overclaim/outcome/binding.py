"""Claims + calls -> which calls each claim is about, by action, object and identifiers.

Precision comes first: where it is not clear which call a claim means, it is bound to the likeliest one, so that
only a claim that no call can be about is left without any (and may then be judged unsupported).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from overclaim.outcome.history import ANYTHING, bad
from overclaim.outcome.lexicon import actions, table, verbs, words
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
from overclaim.outcome.words import singular, split_name, tokens

ENOUGH = 2  # the score from which a call fits a claim by name


def bind(reading: Reading, calls: Sequence[Call], *, asked: frozenset[str] = frozenset()) -> tuple[BoundClaim, ...]:
    """Each claim of the reading with the indexes of the calls it is about.

    asked: identifiers and numbers of what the user asked for; with it, a claim that repeats the request while the
    act used other values is a mismatch.
    """
    bound = [_bind(claim, calls, asked) for claim in reading.claims]
    said = {index for one in bound if _deed(one.claim) for index in one.about}
    return tuple(replace(one, about=tuple(sorted(said))) if said and _adds_nothing(one.claim) else one for one in bound)


def _deed(claim: Claim) -> bool:
    return claim.outcome is Outcome.SUCCESS and bool(claim.action) and not claim.generic


def _adds_nothing(claim: Claim) -> bool:
    """Whether it only says "Done!": beside "I created the user" that is about the user, whatever was tried after."""
    return claim.outcome is Outcome.SUCCESS and claim.generic and not (claim.quantity and claim.quantity.everything)


def _bind(claim: Claim, calls: Sequence[Call], asked: frozenset[str]) -> BoundClaim:
    about = _about(claim, calls)
    indexes = frozenset(about)
    chosen = [call for call in calls if call.index in indexes]
    mismatch = _mismatch(claim, chosen, calls, asked) if claim.outcome is Outcome.SUCCESS else None
    return BoundClaim(claim, about, mismatch)


def _about(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    if claim.outcome is not Outcome.SUCCESS:
        return _reported(claim, calls)
    if claim.in_words:
        return _looked_at(calls)
    if claim.generic:
        return _final(claim, calls)
    fitting = _best(claim, calls)
    return _narrow(claim, fitting) if fitting else _fallback(claim, calls)


def _looked_at(calls: Sequence[Call]) -> tuple[int, ...]:
    """The look that words rest on: the last one that went well, or none."""
    looks = [call for call in calls if call.operation.effect is Effect.READ and not bad(call)]
    return tuple(call.index for call in looks[-1:])


def _reported(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """What a report of failure is about: the calls that did not go well, where it names one; else it covers all."""
    rough = [call for call in calls if call.observed.outcome is not Outcome.SUCCESS]
    return tuple(call.index for call in _best(claim, rough))


def _best(claim: Claim, calls: Sequence[Call]) -> list[Call]:
    scored = [(_score(claim, call), call) for call in calls]
    best = max((score for score, _ in scored), default=0)
    return [call for score, call in scored if score == best] if best >= ENOUGH else []


def _score(claim: Claim, call: Call) -> float:
    """How well a call fits a claim: identifiers and the action say most, then objects, then words of its targets."""
    if not _effect_fits(claim, call):
        return 0
    named = _names(claim)
    operation = call.operation
    score = 3.0 if claim.action and claim.action == operation.action else 2.5 * _named_so(claim, call)
    score += 3 if named & set(operation.targets) else 2 if named & call.mentions else 0
    nouns = len(set(claim.objects) & _nouns(call.tool, operation))
    score += 1 + min(nouns, 3) if nouns else 0
    if score < ENOUGH:
        return 0
    # Only to tell apart what fits equally well.
    score += bool(_words(claim.text) & _target_words(operation))
    return score + 0.5 * _near(claim, call) + 0.25 * (operation.effect is Effect.WRITE)


def _named_so(claim: Claim, call: Call) -> bool:
    """Whether a word of the tool's name is a verb of the claimed action: create_refund refunds."""
    return bool(claim.action) and claim.action in _name_actions(call.tool)


@lru_cache(maxsize=1024)
def _name_actions(tool: str) -> frozenset[str]:
    return frozenset(verbs()[word].name for word in split_name(tool) if word in verbs())


def _names(claim: Claim) -> set[str]:
    """What the claim names: identifiers, and numbers long enough to be one."""
    return {*claim.targets, *(amount for amount in claim.amounts if len(amount) >= 4)}


def _words(text: str) -> frozenset[str]:
    return tokens(text) - words("arguments", "stopwords")


def _nouns(tool: str, operation: Operation) -> set[str]:
    """The objects of the operation and the tool's own words: "return" in return_items is a noun to most people."""
    return {*operation.objects, *map(singular, split_name(tool))}


def _near(claim: Claim, call: Call) -> bool:
    return any(claim.action in group and call.operation.action in group for group in table("near")["groups"])


def _effect_fits(claim: Claim, call: Call) -> bool:
    """A claimed change is never about a call that only reads; a claimed look never about one that only writes.

    A command that just runs something may have done anything, so it is no answer to a claim that names its deed.
    """
    action = actions().get(claim.action)
    effect = call.operation.effect
    if action is None or action.effect is Effect.UNKNOWN:
        return True
    if action.check:  # testing an endpoint may well mean posting to it
        return effect is not Effect.WRITE or bool(_names(claim) & set(call.operation.targets))
    if effect is Effect.UNKNOWN:
        return call.operation.action != "run"
    return action.effect is effect


def _narrow(claim: Claim, fitting: list[Call]) -> tuple[int, ...]:
    """All that fit where the claim counts or names them; else one operation: the last that went well, or was tried."""
    named = [call for call in fitting if _names(claim) & set(call.operation.targets)] or _told_apart(claim, fitting)
    action = actions().get(claim.action)
    looked = action is not None and action.check  # "all tests pass" is about the last time they ran
    if named or (_plural(claim) and not looked):
        return tuple(call.index for call in named or fitting)
    meant = fitting if looked else [call for call in fitting if call.observed.outcome is Outcome.SUCCESS] or fitting
    return tuple(call.index for call in fitting if call.operation.key == meant[-1].operation.key)


def _told_apart(claim: Claim, fitting: list[Call]) -> list[Call]:
    """The calls whose targets the claim tells apart in plain words: "I booked the Blue and the Red room"."""
    about = frozenset[str]().union(*map(tokens, (*claim.objects, *claim.targets)))
    shared = [about & _target_words(call.operation) for call in fitting]
    common = shared[0].intersection(*shared)
    return [call for call, words in zip(fitting, shared, strict=True) if words - common]


def _target_words(operation: Operation) -> frozenset[str]:
    return frozenset[str]().union(*(tokens(target) for target in operation.targets))


def _plural(claim: Claim) -> bool:
    return claim.quantity is not None and (claim.quantity.everything or (claim.quantity.count or 0) > 1)


def _final(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """What "done" is about: the write tried last, or all calls where the run wrote nothing."""
    writes = [call for call in calls if call.operation.effect is Effect.WRITE]
    if not writes:
        return tuple(call.index for call in calls)
    if claim.quantity is not None and claim.quantity.everything:
        return tuple(call.index for call in writes)
    return tuple(call.index for call in writes if call.operation.key == writes[-1].operation.key)


def _fallback(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """Nothing fits by name. Only where no call could have done it does the claim stay without one.

    An answer without a deed rests on what was read, and one read that went well is enough for it.
    """
    possible = [call for call in calls if _possible(claim, call)] or _belied(claim, calls)
    if claim.targets and not any(set(claim.targets) & call.mentions for call in calls):
        possible = [call for call in possible if _akin(claim, call)]
    if not claim.action:
        reads = [call for call in possible if call.operation.effect is not Effect.WRITE]
        possible = [call for call in reads if call.observed.outcome is not Outcome.FAILURE] or reads or possible
    return tuple(call.index for call in possible if call.operation.key == possible[-1].operation.key)


def _possible(claim: Claim, call: Call) -> bool:
    action, operation = actions().get(claim.action), call.operation
    if action is None or operation.action in ANYTHING:
        return True
    if action.name == "test":
        return operation.action == "test"
    if not _effect_fits(claim, call):
        return False
    distinct = action.name in words("near", "distinct")
    return not distinct or operation.action == action.name or _named_so(claim, call) or _same_object(claim, call)


def _same_object(claim: Claim, call: Call) -> bool:
    return bool(set(claim.objects) & _nouns(call.tool, call.operation))


def _belied(claim: Claim, calls: Sequence[Call]) -> list[Call]:
    """What speaks against a check that never was: the change tried last, where that went badly.

    Who says "I verified that it works" over a failed call is contradicted, not only without support.
    """
    action = actions().get(claim.action)
    last = [call for call in calls if call.operation.effect is Effect.WRITE][-1:]
    return last if action is not None and action.check and any(map(bad, last)) else []


def _akin(claim: Claim, call: Call) -> bool:
    """Whether a call is of the claimed kind. One of another kind did not do it to something it never mentions."""
    same = call.operation.action in (claim.action, *ANYTHING) or _near(claim, call)
    return not claim.action or same or _same_object(claim, call)


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
