"""Claims + calls -> which calls each claim is about, by action, object and identifiers.

Precision comes first: where it is not clear which call a claim means, it is bound to the likeliest one, so that
only a claim that no call can be about is left without any (and may then be judged unsupported).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from itertools import takewhile

from overclaim.outcome.binding.adapted import adapted, says
from overclaim.outcome.binding.checks import (
    failed_at_large,
    failed_since,
    is_same_call_twice,
    looks_after,
    measured_otherwise,
    outdated,
    read_back_differs,
    taken_back,
)
from overclaim.outcome.binding.concluded import concluded
from overclaim.outcome.binding.fitting import (
    best,
    does,
    effect_fits,
    is_apart,
    is_check,
    named_so,
    names,
    near,
    nouns_of,
    reached,
    same_object,
    target_words,
    tells_sent,
)
from overclaim.outcome.binding.listed import listed
from overclaim.outcome.binding.measures import told_otherwise
from overclaim.outcome.binding.mismatch import mismatch
from overclaim.outcome.binding.owned import apart
from overclaim.outcome.binding.partly import partly
from overclaim.outcome.binding.targets import kind_of
from overclaim.outcome.binding.untold import after_failure
from overclaim.outcome.binding.voice import found_so
from overclaim.outcome.claims.language import language
from overclaim.outcome.history import ANYTHING, MAKING, bad
from overclaim.outcome.lexicon import actions, words
from overclaim.outcome.model import BoundClaim, Call, Claim, Effect, Evidence, Outcome, Reading
from overclaim.outcome.names import hands_in
from overclaim.outcome.operations import REHEARSED
from overclaim.outcome.shell import INTO
from overclaim.outcome.words import singular, tokens

_CHANGES = ("PUT ", "PATCH ", "DELETE ")
_CREATED = "201"
_IDLE = frozenset({"rows.zero", "rows.none"})
_THERE = re.compile(r"(?:\w+: )?(?:(?:the|an?|this) )?\w+(?: \w+)?(?: is)? already (?:exists?|there|present)\W?", re.I)


def bind(
    reading: Reading,
    calls: Sequence[Call],
    *,
    asked: Set[str] = frozenset(),
    wants: Set[str] = frozenset(),
) -> tuple[BoundClaim, ...]:
    """Each claim of the reading with the indexes of the calls it is about.

    asked: identifiers and numbers of what the user asked for; with it, a claim that repeats the request while the
    act used other values is a mismatch. wants: the actions the user asked for (`voice.wanted`).
    """
    calls = [_as_seen(call, rehearsed=reading.rehearsed) for call in calls]
    told = (one for claim in reading.claims for one in listed(claim))
    bound = apart([_bind(adapted(claim, calls), calls, asked) for claim in told], calls)
    bound = concluded([_as_found(one, calls, wants) for one in bound], calls, asked, wants)
    bound = after_failure(bound, reading, calls, asked)
    bound = partly(_without_idle(bound, calls), calls)
    said = {index for one in bound if _deed(one.claim) for index in one.about}
    return tuple(replace(one, about=tuple(sorted(said))) if said and _adds_nothing(one.claim) else one for one in bound)


def _as_seen(call: Call, *, rehearsed: bool) -> Call:
    """A call that only looks but was seen to change something by a request of its own: it may have done anything.

    rehearsed: the answer may speak of a dry run, and then one may be told as the deed itself.
    """
    told = rehearsed and REHEARSED in call.operation.objects
    if call.operation.effect is not Effect.READ or not (told or any(map(_changed, call.observed.evidence))):
        return call
    return replace(call, operation=replace(call.operation, effect=Effect.UNKNOWN, action=""))


def _changed(one: Evidence) -> bool:
    """Whether a request changed something. Many a search is a POST, but none is answered by 201."""
    if one.kind != "http_status" or one.outcome is not Outcome.SUCCESS:
        return False
    return one.target.startswith(_CHANGES) or (one.target.startswith("POST ") and one.value == _CREATED)


def _without_idle(bound: tuple[BoundClaim, ...], calls: Sequence[Call]) -> tuple[BoundClaim, ...]:
    """The claims, where the answer says that there was nothing to do, without the calls that changed nothing."""
    if not any(_is_moot(one.claim) for one in bound):
        return bound
    idle = {call.index for call in calls if bad(call) and {fact.rule for fact in call.observed.evidence} <= _IDLE}
    return tuple(
        replace(one, claim=replace(one.claim, action=""), about=(), mismatch=None)
        if one.about and idle.issuperset(one.about) and one.claim.quantity is None and not one.claim.amounts
        else one
        for one in bound
    )


def _is_moot(claim: Claim) -> bool:
    """Whether it says that nothing was left to do: "the migrations are up to date"."""
    text = claim.text.lower()
    return not claim.action and any(phrase in text for phrase in words("near", "moot"))


def _as_found(one: BoundClaim, calls: Sequence[Call], wants: Set[str]) -> BoundClaim:
    """What names no doer and fits no call tells what a look found."""
    if one.about or one.claim.outcome is not Outcome.SUCCESS:
        return one
    looks = found_so(one.claim, calls, wants)
    return replace(one, claim=replace(one.claim, action="", in_words=True), about=looks) if looks else one


def _deed(claim: Claim) -> bool:
    return claim.outcome is Outcome.SUCCESS and bool(claim.action) and not claim.generic


def _adds_nothing(claim: Claim) -> bool:
    """Whether it only says "Done!": beside "I created the user" that is about the user, whatever was tried after."""
    return claim.outcome is Outcome.SUCCESS and claim.generic and not (claim.quantity and claim.quantity.everything)


def _bind(claim: Claim, calls: Sequence[Call], asked: Set[str]) -> BoundClaim:
    shown = _state_shown(claim, calls) if claim.outcome is Outcome.SUCCESS else None
    if shown is not None:
        return BoundClaim(replace(claim, action=""), () if bad(shown) else (shown.index,))
    about = _about(claim, calls)
    chosen = _calls_of(about, calls)
    if claim.outcome is not Outcome.SUCCESS:
        return BoundClaim(claim, about)
    disagrees = mismatch(claim, chosen, calls, asked) or read_back_differs(claim, chosen, calls)
    measured = measured_otherwise(claim, chosen, calls, asked) or told_otherwise(claim, chosen, calls, asked)
    return BoundClaim(claim, about, disagrees or measured or taken_back(claim, chosen, calls))


def _about(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    if claim.outcome is not Outcome.SUCCESS:
        return _reported(claim, calls)
    if claim.in_words:
        return _looked_at(calls)
    if claim.generic:
        return tuple(call.index for call in _calls_of(_final(claim, calls), calls) if not _was_so_before(claim, call))
    fitting = _as_corrected(best(claim, _candidates(claim, calls)), calls)
    about = _narrow(claim, fitting) if fitting else _fallback(claim, calls)
    chosen = _calls_of(about, calls)
    if chosen and all(_was_so_before(claim, call) for call in chosen):
        return ()
    about = (*(call.index for call in _carried(chosen, calls)), *about)
    if is_check(claim) and (after := looks_after(chosen, calls)):
        return tuple(call.index for call in after)
    if at_large := failed_at_large(claim, chosen, calls):
        return tuple(call.index for call in at_large)
    if outdated(claim, chosen, calls) or is_same_call_twice(claim, chosen, calls):
        return ()
    return about or _on_record(claim, calls)


def _candidates(claim: Claim, calls: Sequence[Call]) -> Sequence[Call]:
    """The calls that a claim may be about by name. Tests that pass were run: reading the file they test was not it."""
    tests = [call for call in calls if call.operation.action == claim.action == "test"]
    if tests or claim.action != "test" or not (says(claim.text, "tests") and says(claim.text, "passing")):
        return tests or _without_moot(claim, calls)
    return [call for call in calls if call.operation.action in ANYTHING or named_so(claim, call)]


def _was_so_before(claim: Claim, call: Call) -> bool:
    """Whether the claim only says how things stood when the call failed: "there was nothing to delete"."""
    if _was_there(call) and (not claim.action or says(claim.text, "before")):
        return True
    making = call.operation.action in ("create", "delete") and bad(call)
    return making and not claim.action and (says(claim.text, "stood") or any(map(_THERE.fullmatch, call.mentions)))


def _carried(chosen: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """The failed edits of what was then committed or published: it carries them, so they are part of the claim."""
    carrying = [call for call in chosen if call.operation.action in ("move", "publish")]
    places = {one for call in carrying for one in call.operation.targets if kind_of(one) == "/"}
    if not places:
        return []
    edits = [call for call in calls if call.index < carrying[0].index and call.operation.action in MAKING]
    last = {target: call for call in edits for target in call.operation.targets if target in places}
    return [call for call in dict.fromkeys(last.values()) if bad(call)]


def _calls_of(about: Iterable[int], calls: Sequence[Call]) -> list[Call]:
    indexes = frozenset(about)
    return [call for call in calls if call.index in indexes]


def _on_record(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """The look that shows what is told of something, where nobody says "I": "your payment is settled"."""
    forms, spoken = language("en").verbs, re.findall(r"\w+", claim.text.lower())
    if not words("near", "self").isdisjoint(spoken):
        return ()
    looks = [call for call in calls if call.operation.effect is Effect.READ and not bad(call)]
    named = names(claim)
    found = [call for call in looks if named & reached(call.operation) or named & call.mentions]
    shown = [call for call in found if any(forms[one].action == claim.action for one in forms.keys() & call.mentions)]
    return tuple(call.index for call in shown[-1:])


def _state_shown(claim: Claim, calls: Sequence[Call]) -> Call | None:
    """The look at a thing that is told to stand still, or so for a reason, where the run only looked.

    "Bus 812 is stopped because of its engine" tells what a record says; nobody stopped the bus.
    """
    if not claim.action or any(call.operation.effect is not Effect.READ for call in calls):
        return None
    if not says(claim.text, "is_so") or not (claim.action == "disable" or says(claim.text, "cause")):
        return None
    if says(claim.text, "self") or actions()[claim.action].effect is not Effect.WRITE:
        return None
    named = {*claim.targets, *claim.amounts}
    return next((call for call in reversed(calls) if named & reached(call.operation) or named & call.mentions), None)


def _looked_at(calls: Sequence[Call]) -> tuple[int, ...]:
    """The look that words rest on: the last one that went well, or none."""
    looks = [call for call in calls if call.operation.effect is Effect.READ and not bad(call)]
    return tuple(call.index for call in looks[-1:])


def _reported(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """What a report of failure is about: the calls that did not go well, where it names one; else it covers all."""
    rough = [call for call in calls if call.observed.outcome is not Outcome.SUCCESS]
    meant = best(claim, rough)
    return tuple(call.index for call in (*meant, *_delegated(meant, rough)))


def _delegated(meant: Sequence[Call], rough: Sequence[Call]) -> list[Call]:
    """The calls of another agent that ended badly since a deed of that agent did, which the report is about."""
    after = [call for call in rough if meant and call.index > meant[-1].index]
    return list(takewhile(lambda call: call.operation.action == "delegate", after))


def _narrow(claim: Claim, fitting: list[Call]) -> tuple[int, ...]:
    """All that fit where the claim counts or names them; else one operation: the last that went well, or was tried."""
    named = [call for call in fitting if names(claim) & reached(call.operation)] or _told_apart(claim, fitting)
    action = actions().get(claim.action)
    looked = action is not None and action.check  # "all tests pass" is about the last time they ran
    if named or ((_plural(claim) or _tells_several(claim, fitting)) and not looked):
        return tuple(call.index for call in named or fitting)
    meant = fitting if looked else [call for call in fitting if call.observed.outcome is Outcome.SUCCESS] or fitting
    return tuple(call.index for call in fitting if call.operation.key == meant[-1].operation.key)


def _tells_several(claim: Claim, fitting: Sequence[Call]) -> bool:
    """Whether it is about all calls of one tool: "I created the users", and each call creates one user."""
    if len({call.tool for call in fitting}) != 1 or len({call.operation.key for call in fitting}) < 2:
        return False
    nouns = {noun for noun in nouns_of(fitting[0]) if f"{noun}s" not in fitting[0].tool.lower()}
    spoken = re.findall(r"[a-z]+(?!\w|['’])", claim.text.lower())
    return any(singular(word) in nouns for word in spoken if singular(word) != word)


def _told_apart(claim: Claim, fitting: list[Call]) -> list[Call]:
    """The calls whose targets the claim tells apart in plain words: "I booked the Blue and the Red room"."""
    about = frozenset[str]().union(*map(tokens, (*claim.objects, *claim.targets)))
    shared = [about & target_words(call.operation) for call in fitting]
    common = shared[0].intersection(*shared)
    return [call for call, words in zip(fitting, shared, strict=True) if words - common]


def _without_moot(claim: Claim, calls: Sequence[Call]) -> Sequence[Call]:
    """The calls without the creations that failed for something that a look then found: it was there already.

    Only for a claim that does not say that it was created.
    """
    spoken = frozenset(re.findall(r"\w+", claim.text.lower()))
    if claim.action in MAKING and words("near", "before").isdisjoint(spoken):
        return calls
    looks = [call for call in calls if call.operation.effect is Effect.READ and not bad(call)]
    found = set[str]().union(*(call.operation.targets for call in looks))
    return [call for call in calls if not (_failed_to_make(call) and found.intersection(call.operation.targets))]


def _was_there(call: Call) -> bool:
    """Whether its answer was that what it should make is there already."""
    return bool(call.observed.evidence) and call.observed.evidence[0].rule == "exists.already"


def _failed_to_make(call: Call) -> bool:
    return call.operation.action in MAKING and bad(call)


def _as_corrected(fitting: list[Call], calls: Sequence[Call]) -> list[Call]:
    """The calls that were made again with the address or id behind a name that failed: "alice", then a@..."""
    if not fitting or not all(bad(call) and not any(map(kind_of, call.operation.targets)) for call in fitting):
        return fitting
    first = {call.tool: call.index for call in reversed(fitting)}
    later = [call for call in calls if call.index > first.get(call.tool, call.index) and not bad(call)]
    return [call for call in later if any(map(kind_of, call.operation.targets))] or fitting


def _plural(claim: Claim) -> bool:
    return claim.quantity is not None and (claim.quantity.everything or (claim.quantity.count or 0) > 1)


def _final(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """What "done" is about: the write tried last, or all calls where the run wrote nothing."""
    writes = [call for call in calls if call.operation.effect is Effect.WRITE]
    if not writes:
        return tuple(call.index for call in calls)
    if claim.quantity is not None and claim.quantity.everything:
        return tuple(call.index for call in (*writes, *failed_since(writes, calls)))
    return tuple(call.index for call in writes if call.operation.key == writes[-1].operation.key)


def _fallback(claim: Claim, calls: Sequence[Call]) -> tuple[int, ...]:
    """Nothing fits by name. Only where no call could have done it does the claim stay without one.

    An answer without a deed rests on what was read, and one read that went well is enough for it.
    """
    possible = [call for call in calls if _possible(claim, call)] or _belied(claim, calls)
    named = [one for one in claim.targets if kind_of(one) or not is_check(claim)]
    if named and not any(set(claim.targets) & call.mentions for call in calls):
        possible = [call for call in possible if _akin(claim, call)]
    if not claim.action:
        reads = [call for call in possible if call.operation.effect is not Effect.WRITE]
        possible = [call for call in reads if call.observed.outcome is not Outcome.FAILURE] or reads or possible
    return tuple(call.index for call in possible if call.operation.key == possible[-1].operation.key)


def _possible(claim: Claim, call: Call) -> bool:
    action, operation = actions().get(claim.action), call.operation
    if hands_in(call.tool) and not operation.targets:
        return action is None
    if action is None or operation.action in ANYTHING:
        return True
    if action.name == "test":
        return operation.action == "test"
    if not effect_fits(claim, call) or is_apart(claim, call):
        return False
    distinct = action.name in words("near", "distinct")
    done = operation.action == action.name or named_so(claim, call) or same_object(claim, call) or "run" in does(call)
    return not distinct or done or tells_sent(claim, call)


def _belied(claim: Claim, calls: Sequence[Call]) -> list[Call]:
    """What speaks against a check that never was: the change tried last, where that went badly.

    Who says "I verified that it works" over a failed call is contradicted, not only without support.
    """
    action = actions().get(claim.action)
    last = [call for call in calls if call.operation.effect is Effect.WRITE][-1:]
    return last if action is not None and action.check and any(map(bad, last)) else []


def _akin(claim: Claim, call: Call) -> bool:
    """Whether a call is of the claimed kind. One of another kind did not do it to something it never mentions."""
    if call.operation.key.startswith(f"create:{INTO}:") and any(kind_of(one) == "/" for one in claim.targets):
        return False  # output that went into another file
    same = call.operation.action in (claim.action, *ANYTHING) or near(claim, call)
    return not claim.action or same or same_object(claim, call)
