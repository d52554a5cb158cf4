"""A claim in the words of its run: what the calls show of a text that no lexicon can tell.

The values of arguments are the identifiers of the run, and the verbs of tool names tell deeds by other forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from overclaim.outcome.lexicon import words
from overclaim.outcome.model import Call, Claim, Outcome
from overclaim.outcome.names import tool_verb

MOST_NAMED = 8  # targets added to one claim

_BY_AGENT = re.compile(
    r"\b(?:i|we)(?:['’]ve| have)?(?: just| also| now| already| \w+ly)* (\w{3,}ed)\b"
    r"(?! (?:through|over|back|that|up|out|into)\b)"
)
_TEST = re.compile(r"\btest\w*[ -]?([^\W_]*)")
_LATIN = "\u0900"  # from here on scripts of which the words are looked for as they stand
_WORD = re.compile(r"[^\W_]+")


def adapted(claim: Claim, calls: Sequence[Call]) -> Claim:
    """The claim with the targets that it names by their bare names, and the deed that its words tell."""
    if claim.outcome is not Outcome.SUCCESS or claim.in_words:
        return claim
    action, named = _deed(claim), tuple(_named(claim, calls))
    if action == claim.action and not named:
        return claim
    return replace(claim, action=action, targets=(*claim.targets, *named))


def _deed(claim: Claim) -> str:
    """The action, also where only the verbs of tool names know it ("I texted her"), and tests that were started."""
    text = claim.text.lower()
    if claim.action in ("start", "test", ""):
        told = _tested(claim.action, text)
        if told is not None:
            return told
    if claim.action or claim.generic:
        return claim.action
    found = (tool_verb(base) for form in _BY_AGENT.findall(text) for base in _bases(form))
    return next((action for action in found if action in words("near", "told_so")), "")


def _tested(action: str, text: str) -> str | None:
    """What a claim about tests says was done, None where it tells of none: "the suite was started", "tests pass"."""
    if action == "test":
        places = [after in words("near", "test_of") for after in _TEST.findall(text)]
        return "" if places and all(places) else None
    if not says(text, "tests") or (not action and not says(text, "passing")):
        return None
    return "test"


def says(text: str, kind: str) -> bool:
    """Whether a word of a list of near.toml stands in a text; East Asian script has no spaces between them."""
    listed, text = words("near", kind), text.lower()
    return not listed.isdisjoint(_WORD.findall(text)) or any(word in text for word in listed if word > _LATIN)


def _bases(form: str) -> tuple[str, ...]:
    """What a regular past form may come from: "texted", "paged", "dropped"."""
    return form[:-2], form[:-1], form[:-3]


def _named(claim: Claim, calls: Sequence[Call]) -> Iterator[str]:
    """The targets of calls that stand in the text as they are: "both gate-a and gate-b are restarted"."""
    text = claim.text.lower()
    targets = dict.fromkeys(target for call in calls for target in call.operation.targets)
    bare = (one for one in targets if "-" in one and not any(char in one for char in "@/.:") and one in text)
    for target in list(bare)[:MOST_NAMED]:
        if target not in claim.targets and re.search(rf"(?<![\w-]){re.escape(target)}(?![\w-])", text):
            yield target
