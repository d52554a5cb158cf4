"""How well a call fits a claim: by action, object and identifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from overclaim.outcome.claims.language import language
from overclaim.outcome.history import ANYTHING, bad
from overclaim.outcome.lexicon import actions, table, verbs, words
from overclaim.outcome.model import Call, Claim, Effect, Operation
from overclaim.outcome.names import effects_of
from overclaim.outcome.words import singular, split_name, tokens

STEM = 4  # letters in which two words must begin alike to be forms of one
MAX_ENDING = 4  # letters by which they may then differ
ENOUGH = 2  # the score from which a call fits a claim by name


def best(claim: Claim, calls: Sequence[Call]) -> list[Call]:
    """The calls that fit a claim best, where any fits well enough by name."""
    scored = [(score(claim, call), call) for call in calls]
    highest = max((points for points, _ in scored), default=0)
    return [call for points, call in scored if points == highest] if highest >= ENOUGH else []


def score(claim: Claim, call: Call) -> float:
    """How well a call fits a claim: identifiers and the action say most, then objects, then words of its targets."""
    if not effect_fits(claim, call) or is_apart(claim, call):
        return 0
    named, operation = names(claim), call.operation
    points = 3.0 if claim.action and claim.action == operation.action else 2.5 * named_so(claim, call)
    points += 3 if named & reached(operation) else 2 if named & call.mentions else 0
    nouns = len(set(claim.objects) & nouns_of(call))
    points += 1 + min(nouns, 3) if nouns else 2 * told_by_name(claim, call)
    if points < ENOUGH:
        return 0
    # Only to tell apart what fits equally well.
    points += bool(_words(claim.text) & target_words(operation))
    return points + 0.5 * near(claim, call) + (-0.25 if is_check(claim) else 0.25) * (operation.effect is Effect.WRITE)


def is_check(claim: Claim) -> bool:
    """Whether a look is claimed that makes sure of something."""
    return claim.action in actions() and actions()[claim.action].check


def effect_fits(claim: Claim, call: Call) -> bool:
    """A claimed change is never about a call that only reads; a claimed look never about one that only writes.

    A command that just runs something may have done anything, so it is no answer to a claim that names its deed.
    """
    action, effect = actions().get(claim.action), call.operation.effect
    if action is None or action.effect is Effect.UNKNOWN:
        return True
    if action.check:  # testing an endpoint may well mean posting to it, and verify_account verifies
        return effect is not Effect.WRITE or bool(names(claim) & reached(call.operation)) or named_so(claim, call)
    if effect is Effect.UNKNOWN:
        return call.operation.action != "run"
    return action.effect is effect or action.effect in effects_of(call.tool)


def is_apart(claim: Claim, call: Call) -> bool:
    """Whether the claim names a deed that a call of another known kind cannot be, whatever id they share.

    Who wrote a file has not committed it. A deed of the same object may be another word for it: an order that is
    updated to "cancelled" is cancelled; and what goes to an address may be sent by the way.
    """
    told = does(call)
    if not told or claim.action in told or not told.isdisjoint(ANYTHING) or same_object(claim, call):
        return False
    if claim.action == "send":
        return not tells_sent(claim, call) and not any("@" in one for one in names(claim) & reached(call.operation))
    kept = table("near")["apart"]
    verb = next((verb for verb in _verbs_apart(claim.action) if verb in _bases(claim.text)), "")
    if verb:
        return nouns_of(call).isdisjoint(kept["verbs"][verb])
    return claim.action in kept["actions"] and not near(claim, call)


@lru_cache(maxsize=1024)
def _verbs_apart(action: str) -> tuple[str, ...]:
    """The verbs of an action that tell deeds of their own."""
    listed = table("near")["apart"]["verbs"]
    return tuple(verb for verb in listed if verb in verbs() and verbs()[verb].name == action)


def does(call: Call) -> frozenset[str]:
    """The actions that a call is known to do: by its operation, the verbs of its name, and those of its command."""
    return _does(call.operation.action, call.operation.objects, call.tool)


@lru_cache(maxsize=1024)
def _does(action: str, objects: tuple[str, ...], tool: str) -> frozenset[str]:
    command = {verbs()[word].name for word in objects if word in verbs() and word not in tool.lower()}
    return frozenset({action, *command} - {""}) | _strong_actions(tool)


@lru_cache(maxsize=1024)
def _bases(text: str) -> frozenset[str]:
    forms = language("en").verbs
    return frozenset(forms[word].base for word in tokens(text) if word in forms)


def named_so(claim: Claim, call: Call) -> bool:
    """Whether a word of the tool's name, or of its command, is a verb of the claimed action: create_refund refunds."""
    return bool(claim.action) and (claim.action in _name_actions(call.tool) or claim.action in does(call))


def told_by_name(claim: Claim, call: Call) -> bool:
    """Whether a claim without a known verb says one of the tool's name in another form: "glazed", kiln_glaze."""
    return not claim.action and any(_alike(said, word) for word in _unread(call.tool) for said in _said(claim.text))


def _alike(one: str, other: str) -> bool:
    """Whether two words are forms of one: they begin alike, but for an ending: "sellada" and "sellar"."""
    if singular(one) == singular(other):
        return False  # a noun, and those are compared as such
    shorter, longer = sorted((one, other), key=len)
    kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return kept >= max(STEM, len(shorter) - 2) and len(longer) - kept <= MAX_ENDING


@lru_cache(maxsize=1024)
def _unread(tool: str) -> tuple[str, ...]:
    """The words of a tool's name that are not known as verbs and name something."""
    skip = words("arguments", "stopwords") | words("arguments", "vague")
    return tuple(word for word in split_name(tool) if len(word) >= STEM and word not in verbs() and word not in skip)


@lru_cache(maxsize=1024)
def _said(text: str) -> tuple[str, ...]:
    return tuple(word for word in _words(text) if len(word) >= STEM)


def same_deed(claim: Claim, call: Call) -> bool:
    """Whether the call does just what is claimed: by its action, or by a verb of its name that is never a noun."""
    return bool(claim.action) and claim.action in does(call)


def tells_sent(claim: Claim, call: Call) -> bool:
    """Whether the answer of a change says that it sent something, too: "Reset email sent"."""
    if claim.action != "send" or bad(call):
        return False
    told = (
        frozenset(re.findall(r"[^\W_]+", one)) for one in call.mentions if " " in one or one in words("near", "sent")
    )
    return any(one & words("near", "sent") and one.isdisjoint(words("near", "unsent")) for one in told)


def names(claim: Claim) -> set[str]:
    """What the claim names: identifiers, and numbers long enough to be one."""
    return {*claim.targets, *(amount for amount in claim.amounts if len(amount) >= 4)}


def reached(operation: Operation) -> set[str]:
    """The targets of an operation, paths also by their last part: "report.pdf" is in "/docs/report.pdf"."""
    return {*operation.targets, *(one.rsplit("/", 1)[-1] for one in operation.targets if "/" in one)}


def nouns_of(call: Call) -> frozenset[str]:
    """The objects of the operation and the tool's own words: "return" in return_items is a noun to most people."""
    return _nouns(call.operation.objects, call.tool)


@lru_cache(maxsize=1024)
def _nouns(objects: tuple[str, ...], tool: str) -> frozenset[str]:
    return frozenset((*objects, *map(singular, split_name(tool))))


def near(claim: Claim, call: Call) -> bool:
    """Whether people use the claimed action and that of the call for one another."""
    return _are_near(claim.action, call.operation.action)


@lru_cache(maxsize=1024)
def _are_near(one: str, other: str) -> bool:
    return any(one in group and other in group for group in table("near")["groups"])


def same_object(claim: Claim, call: Call) -> bool:
    """Whether claim and call share a noun."""
    return bool(set(claim.objects) & nouns_of(call))


def target_words(operation: Operation) -> frozenset[str]:
    """The words in the targets of an operation."""
    return frozenset[str]().union(*(tokens(target) for target in operation.targets))


def _words(text: str) -> frozenset[str]:
    return tokens(text) - words("arguments", "stopwords")


@lru_cache(maxsize=1024)
def _name_actions(tool: str) -> frozenset[str]:
    return frozenset(verbs()[word].name for word in split_name(tool) if word in verbs())


@lru_cache(maxsize=1024)
def _strong_actions(tool: str) -> frozenset[str]:
    nouns = words("arguments", "noun_verbs")
    return frozenset(verbs()[word].name for word in split_name(tool) if word in verbs() and word not in nouns)
