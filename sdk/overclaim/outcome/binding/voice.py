"""Who is said to have done it: "several modules were removed", after a look, tells what was found and no deed.

A passive without an agent is the agent's own deed where the user asked for that deed, or where the run changed
anything; else a look that went well is what it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise

from overclaim.outcome.binding.fitting import nouns_of
from overclaim.outcome.binding.targets import kind_of
from overclaim.outcome.claims.detection import detect
from overclaim.outcome.claims.language import language
from overclaim.outcome.history import MAKING
from overclaim.outcome.lexicon import table, words
from overclaim.outcome.model import Call, Claim, Effect, Outcome

ANY = "*"  # an action that stands for every one
MAX_REQUEST = 8_000  # characters looked at in one text of the user

_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]?")
_WORD = re.compile(r"[a-z']+")


def wanted(texts: Iterable[str]) -> frozenset[str]:
    """The actions that a user asks for: "please email it to Dana", "I want a refund"; not "has it been merged?".

    Of a request in another language than English nothing is known, so it may be for any.
    """
    return frozenset(
        action
        for text in texts
        for sentence in _SENTENCE.findall(text[:MAX_REQUEST].lower().replace("’", "'"))
        for action in _asked_for(sentence)
    )


def _asked_for(sentence: str) -> Iterator[str]:
    if detect(sentence) in ("en", ""):
        yield from _requested(_WORD.findall(sentence))
    elif not sentence.rstrip().endswith(("?", "？")):
        yield ANY


def _requested(spoken: Sequence[str]) -> Iterator[str]:
    if not spoken or spoken[0] in words("near", "asking"):
        return
    forms, nouns = language("en").verbs, language("en").nouns
    for at, (before, word) in enumerate(pairwise(("", *spoken))):
        verb = forms.get(word)
        asks = before in ("", *table("near")["before_request"]) or spoken[0] == "if"
        told = word in words("near", "answering") and spoken[at + 1 : at + 2] in (["me"], ["us"])
        if verb is not None and verb.bare and asks and not told:
            yield verb.action
    if not words("near", "wanting").isdisjoint(spoken):
        yield from (nouns[word] for word in spoken if word in nouns)
    text = " ".join(spoken)
    yield from (action for phrase, action in table("near")["requests"].items() if phrase in text)


def found_so(claim: Claim, calls: Sequence[Call], asked_deeds: Set[str]) -> tuple[int, ...]:
    """The last look that shows something, where a claim without a doer can only tell what was found; or none."""
    if not claim.action or any(call.operation.effect is Effect.WRITE for call in calls):
        return ()
    if claim.own and not _by_record(claim, calls):
        return ()
    alike = MAKING if claim.action in MAKING else {claim.action}
    if ANY in asked_deeds or not asked_deeds.isdisjoint(alike):
        return ()
    shown = (Outcome.SUCCESS, Outcome.UNKNOWN)
    looks = [call for call in calls if call.operation.effect is Effect.READ and call.observed.outcome in shown]
    named = [one for one in claim.targets if kind_of(one) == "@"]
    if named and not any(one in call.mentions for call in looks for one in named):
        return ()
    return tuple(call.index for call in looks[-1:])


def _by_record(claim: Claim, calls: Sequence[Call]) -> bool:
    """Whether tests are said to pass and the last look was at builds: "build 7: all tests passed"."""
    said = re.findall(r"\w+", claim.text.lower())
    if claim.action != "test" or not calls or not words("near", "self").isdisjoint(said):
        return False
    return not nouns_of(calls[-1]).isdisjoint(words("near", "builds"))
