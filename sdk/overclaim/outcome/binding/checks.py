"""Whether a look still shows what a claim says was checked: not where the thing was changed after it."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from overclaim.outcome.binding.fitting import does, names, reached
from overclaim.outcome.claims.language import language
from overclaim.outcome.history import ANYTHING, MAKING, bad
from overclaim.outcome.lexicon import actions, words
from overclaim.outcome.mentions import MAX_FOUND
from overclaim.outcome.model import Call, Claim, Effect, Evidence, Grade, Operation, Outcome
from overclaim.outcome.words import tokens

MOST_SHARES = 4  # shares told by one call, of which one may be meant

_MEASURING = ("test", "verify", "run", "compute")
_SHARE = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d+)?) ?%")
_ENDING = re.compile(r"\.[a-z]{1,4}(?:$|::)")
_ASIDE = re.compile(
    r"(?:^|[/_.-])(?:tests?|spec|repro\w*|tmp|temp|scratch|debug|example|demo|docs?|check|verify)(?:[/_.-]|$|\d)|/tmp/"
)


def outdated(claim: Claim, looks: Sequence[Call], calls: Sequence[Call]) -> bool:
    """Whether all looks that a claimed check is about came before the change that it says it checked."""
    action = actions().get(claim.action)
    if action is None or not action.check or not looks or any(look.operation.effect is Effect.WRITE for look in looks):
        return False
    last = max(look.index for look in looks)
    later = [call for call in calls if call.index > last and call.observed.outcome is Outcome.SUCCESS]
    changes = [call for call in later if call.operation.effect is Effect.WRITE]
    if any(call.index > last and call.operation.action in ANYTHING for call in calls):
        return False  # it may have been the check
    if claim.action == "test":
        return all(look.operation.action == "test" for look in looks) and any(
            call.operation.action in MAKING and _is_source(call) for call in changes
        )
    if any(call.operation.effect is not Effect.WRITE for call in later):
        return False  # something looked, or may have looked, after it
    return any(_told_done(claim, change) and _same_thing(claim, looks, change) for change in changes)


def looks_after(changes: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """The last look at what some changes reached, made after them; none where not all of them are changes."""
    if not changes or any(call.operation.effect is not Effect.WRITE for call in changes):
        return []
    last, places = changes[-1].index, set[str]().union(*(reached(call.operation) for call in changes))
    looks = [call for call in calls if call.index > last and call.operation.effect is Effect.READ]
    return [call for call in looks if reached(call.operation) & places][-1:]


def read_back_differs(claim: Claim, looks: Sequence[Call], calls: Sequence[Call]) -> Evidence | None:
    """What a claimed check really saw: after the change, its answer lacks the value that was set and is claimed."""
    action = actions().get(claim.action)
    if action is None or not action.check or not looks or looks[-1].operation.effect is not Effect.READ:
        return None
    look = looks[-1]
    before = [call for call in calls if call.index < look.index and call.operation.effect is Effect.WRITE]
    changes = [call for call in before if reached(call.operation) & reached(look.operation)]
    claimed = {*claim.targets, *(amount for amount in claim.amounts if len(amount) > 1)} - reached(look.operation)
    given = {value for value in claimed if changes and value in changes[-1].mentions}
    if not given or look.observed.outcome is not Outcome.SUCCESS:
        return None
    answer = look.mentions - set(look.operation.targets)
    if not answer or len(look.mentions) >= MAX_FOUND or any(value in one for value in given for one in answer):
        return None
    return Evidence("mismatch", "verification.differs", Outcome.FAILURE, Grade.INFERRED, "value", span_id=look.span_id)


def taken_back(claim: Claim, about: Sequence[Call], calls: Sequence[Call]) -> Evidence | None:
    """What the last look after a change shows: the value that was set is gone, and in so many words reverted."""
    if not about or any(bad(call) or call.operation.effect is not Effect.WRITE for call in about):
        return None
    change, undone = about[-1], words("near", "undone")
    after = [call for call in calls if call.index > change.index]
    looks = [call for call in after if reached(call.operation) & reached(change.operation)]
    if not looks or any(call.operation.effect is not Effect.READ for call in after) or undone & tokens(claim.text):
        return None
    told = frozenset[str]().union(*(tokens(one) for one in looks[-1].mentions - change.mentions))
    gone = change.mentions - looks[-1].mentions
    if not gone or told.isdisjoint(undone):
        return None
    span_id = looks[-1].span_id
    return Evidence("mismatch", "verification.differs", Outcome.FAILURE, Grade.INFERRED, "value", span_id=span_id)


def measured_otherwise(claim: Claim, about: Sequence[Call], calls: Sequence[Call], asked: Set[str]) -> Evidence | None:
    """A share is claimed that no call mentions, while the one that measured it tells another: 91 %, not 83 %."""
    stated = set(_SHARE.findall(claim.text.replace(",", ".")))
    measured = [
        call for call in about if call.operation.action in _MEASURING and call.observed.outcome is Outcome.SUCCESS
    ]
    if not stated or not measured or any(len(call.mentions) >= MAX_FOUND for call in calls):
        return None
    told = {
        float(one[:-1]) for one in measured[-1].mentions if one.endswith("%") and one[:-1].replace(".", "").isdigit()
    }
    known = {one.rstrip("%") for call in calls for one in call.mentions} | asked
    new = [float(one) for one in stated if one.removesuffix(".0") not in known]
    if not 0 < len(told) <= MOST_SHARES or not new or any(_comes_from(float(one), told) for one in stated):
        return None
    span_id = measured[-1].span_id
    return Evidence("mismatch", "quantity.other_share", Outcome.FAILURE, Grade.INFERRED, "share", span_id=span_id)


def _comes_from(share: float, told: set[float]) -> bool:
    """Whether a share is one that was told, rounded, or what it leaves, or the difference of two."""
    made = {*told, *(100 - one for one in told), *(abs(one - other) for one in told for other in told)}
    return any(abs(share - one) <= 1 for one in made)


def is_same_call_twice(claim: Claim, about: Sequence[Call], calls: Sequence[Call]) -> bool:
    """Whether a look after a deed is claimed, and the run's only call would have to be both."""
    action = actions().get(claim.action)
    if action is None or not action.check or len(calls) != 1 or len(about) != 1:
        return False
    spoken = frozenset(re.findall(r"\w+", claim.text.lower()))
    return not calls[0].operation.action and not words("near", "looked_again").isdisjoint(spoken)


def _is_source(call: Call) -> bool:
    """Whether a call changed the code itself, not a test, a note or a scratch file."""
    return any(
        target.rpartition(".")[2] in words("programs", "source") and not _ASIDE.search(target)
        for target in call.operation.targets
    )


def _told_done(claim: Claim, change: Call) -> bool:
    """Whether the claim says that the deed of this change was found done: "checked that the number is saved"."""
    forms, spoken = language("en").verbs, re.findall(r"\w+", claim.text.lower())
    told = {forms[word].action for word in spoken if word in forms and forms[word].done} - {claim.action}
    made = not words("near", "found_there").isdisjoint(spoken)
    deeds = does(change)
    return bool(told & deeds) or (bool(deeds & MAKING) and (made or bool(told & MAKING)))


def _same_thing(claim: Claim, looks: Sequence[Call], change: Call) -> bool:
    near = names(claim).union(*(reached(look.operation) for look in looks))
    return bool(near & reached(change.operation))


def failed_at_large(claim: Claim, runs: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """The last wider run of the tests than these runs, where it went badly and all of them are said to pass."""
    spoken = frozenset(re.findall(r"\w+", claim.text.lower()))
    if claim.action != "test" or not runs or runs[-1].operation.action != "test":
        return []
    if words("near", "whole").isdisjoint(spoken) or any(_ENDING.search(one) for one in claim.targets):
        return []
    last = runs[-1].operation
    same = [call for call in calls if call.operation.action == "test" and _program(call.operation) == _program(last)]
    wider = [call for call in same if _narrowness(call.operation) < _narrowness(last)]
    return [call for call in wider[-1:] if bad(call)]


def failed_since(changes: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """The last run of tests after the last of some changes, where it went badly."""
    last = max((call.index for call in changes), default=-1)
    tests = [call for call in calls if call.index > last and call.operation.action == "test"]
    return [call for call in tests[-1:] if bad(call)]


def _program(operation: Operation) -> str:
    return ":".join(operation.key.split(":")[:2])


def _narrowness(operation: Operation) -> int:
    """How little of the tests was run: all, one folder, or one file."""
    files = [one for one in operation.targets if "/" in one or "::" in one or _ENDING.search(one)]
    return 2 if any(_ENDING.search(one) or "::" in one for one in files) else 1 if files else 0
