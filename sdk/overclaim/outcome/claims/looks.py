"""Looks that an answer says it rests on, told in passing: "on checking, ...", "according to my search, ...".

Read in the text that hands the answer in, beside the code or the words that give it. What was planned before, and what
a step on the way says, is not said to the user and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from overclaim.outcome.lexicon import table
from overclaim.outcome.model import Claim, Outcome

WINDOW = 3  # texts at the end of a run among which the answer is handed in
MAX_TEXT = 6_000  # characters looked at in one text
MAX_LOOKS = 4

_FENCE = re.compile(r"(?:```|~~~)[^\n`]{0,80}\n(.*?)(?:```|~~~|\Z)", re.S)
_HANDS_IN = re.compile(r"^[ \t]*(?:\w{1,40} = )?(?:final_answer|submit_answer|submit_final_answer)\(", re.M)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
_WORD = re.compile(r"[a-z'-]+")


def told_looks(texts: Sequence[str]) -> tuple[Claim, ...]:
    """The looks that the text with the answer claims, as claims of success. texts: the agent's, oldest first."""
    last = [text for text in texts if text.strip()][-WINDOW:]
    for turn in reversed(range(len(last))):
        text = last[turn][-MAX_TEXT:]
        if any(_HANDS_IN.search(code) for code in _FENCE.findall(text)):
            return tuple(_claims(_FENCE.sub("\n", text), turn))[:MAX_LOOKS]
    return ()


def _claims(prose: str, turn: int) -> Iterator[Claim]:
    for sentence in _SENTENCE.findall(prose):
        lower = " ".join(sentence.lower().replace("’", "'").replace("‐", "-").split())
        action = next(
            (name for name, pattern in _patterns() if (found := pattern.search(lower)) and _told(lower, found)), ""
        )
        if action:
            yield Claim(Outcome.SUCCESS, action, text=sentence.strip(), turn=turn)


def _told(sentence: str, found: re.Match[str]) -> bool:
    """Whether nothing before the look, or right after it, makes it a plan, a wish or a doubt."""
    near = _WORD.findall(sentence[: found.end()])
    return frozenset(table("looks")["words"]["open"]).isdisjoint(near)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """One pattern for each action and way of telling."""
    looks, small = table("looks"), table("looks")["words"]
    said = rf"\b(?:i|we)(?:'ve| have| had)? (?:(?:{_any(small['between'])}) )*"
    resting = rf"\b(?:{_any(small['resting'])}) (?:{_any(small['owner'])}) (?:(?:{_any(small['before'])}) ){{0,3}}"
    ways = ((said, "past"), (rf"\b(?:{_any(small['opening'])}) (?:\w+ly )?", "doing"), (resting, "nouns"))
    return tuple(
        (action, re.compile(rf"{start}(?:{_any(forms)})\b(?! term| engine| string)"))
        for start, kind in ways
        for action, forms in looks[kind].items()
    )


def _any(words: Sequence[str]) -> str:
    return "|".join(map(re.escape, words))
