"""Clauses that tell what a language model words in its answer itself: "I translated the text", "I wrote a poem".

There is no call behind that, so such a clause claims a success without an action. Precision first: a name, a file or
a place ("in Trello", "to Drafts") makes a deed of it again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from overclaim.outcome.claims.clauses import is_name
from overclaim.outcome.claims.language import PUNCTUATION, language
from overclaim.outcome.claims.scan import Event, Scan
from overclaim.outcome.words import singular

_SIGNS = "(){}[]=`"
_CODED = re.compile(r"#|(?!\d+-[a-z])(?=\S*\d)(?=\S*[^\W\d_])")  # "W12", "#12"; "3-day" counts days
_QUOTES = "\"'`“„«‘"


@dataclass(slots=True)
class _Clause:
    """What follows a verb: the words up to a colon or the next event, and whether more is shown after it."""

    state: Scan
    at: int
    words: list[str]
    first: int
    starts: list[int]
    content: str

    def has(self, part: str) -> bool:
        """Whether a word of the clause is listed in a part of the lexicon."""
        return any(self.state.has(part, word) or self.state.has(part, singular(word)) for word in self.words)

    def spelled(self, i: int) -> str:
        """The text from the i-th word on."""
        at = self.first + i
        return self.state.sentence.text[self.starts[at] :] if at < len(self.starts) else ""


_VERBS = ("composing", "rewording", "writing", "proofing", "enumerating")


@cache
def _own_work(code: str) -> frozenset[str]:
    sets = language(code).sets
    return frozenset[str]().union(*(sets.get(part, frozenset[str]()) for part in _VERBS))


def worded(state: Scan, event: Event, end: int, starts: list[int]) -> bool:
    """As in "I translated the text", "I wrote a poem", "I fixed the function below"."""
    if event.verb not in _own_work(state.lang.code):
        return False
    stop = next((i for i in range(event.at + 1, end) if state.words[i] in PUNCTUATION - {","}), end)
    content = state.sentence.text[starts[stop] + 1 :] if stop < end and state.words[stop] == ":" else ""
    clause = _Clause(state, event.at, state.words[event.at + 1 : stop], event.at + 1, starts, content.strip())
    if _named(clause):
        return False
    verb = event.verb
    if state.has("composing", verb) or (state.has("rewording", verb) and _goes_on(clause)):
        return True
    if event.mode == "passive" or _placed(clause):
        return False
    return (
        (state.has("writing", verb) and _writes(clause))
        or (state.has("rewording", verb) and _rewords(clause))
        or (state.has("proofing", verb) and _proofs(clause))
        or (state.has("enumerating", verb) and (_head(clause, "compositions") or _head(clause, "observations")))
    )


def _goes_on(clause: _Clause) -> bool:
    """As in "I've reviewed your text and corrected two typos": what was set right in a text of the user's."""
    before = clause.state.words[: clause.at]
    read = any(clause.state.has("own_texts", word) for word in before) and "your" in before
    return read and clause.has("language_faults")


def _named(clause: _Clause) -> bool:
    """Whether a file, an address or a number of a record stands in the clause; a quotation is only text."""
    for i, word in enumerate(clause.words):
        if is_name(word) and clause.spelled(i)[:1] not in _QUOTES:
            return True
        spelled = clause.spelled(i).split(maxsplit=1)[:1]
        if spelled and _CODED.match(spelled[0]):
            return True
    return False


def _placed(clause: _Clause) -> bool:
    """As in "in Trello", "to the database": where a record was made. "For your trip in Rome" is what it is about."""
    topic = False
    for i, word in enumerate(clause.words[:-1]):
        after = clause.words[i + 1]
        if word in ("for", "of", "about") and not clause.state.has("you", after) and after not in ("me", "us"):
            topic = True
        if not clause.state.has("places", word) or clause.state.has("written_in", after) or after == "do":
            continue
        if clause.spelled(i + 1)[:1].isupper() and not topic and not _addressed(clause, i):
            return True
        if any(clause.state.has("containers", near) for near in clause.words[i + 1 : i + 4]):
            return True
    return False


def _addressed(clause: _Clause, i: int) -> bool:
    """As in "an email to Ann"."""
    if clause.words[i] != "to" or clause.state.has("stores", clause.words[i + 1]):
        return False
    return _head(clause, "addressed")


def _shown(clause: _Clause) -> bool:
    """Whether the text is there to see: "below", or after a colon."""
    if clause.has("shown_here"):
        return True
    coded = any(sign in clause.content for sign in _SIGNS)
    return coded or (clause.state.sentence.opens_list and not clause.content)


def _writes(clause: _Clause) -> bool:
    if clause.has("record_words") and not _shown(clause):
        return False
    if _head(clause, "compositions"):
        return True
    if _shown(clause) or clause.content:
        return _head(clause, "text_kinds") or _head(clause, "shown_kinds")
    skip = clause.words[:1] in (["together"], ["you"])
    lead = clause.words[skip : skip + 1]
    vague = any(clause.state.has(part, word) for part in ("indefinite", "several") for word in lead)
    counted = any(word in clause.state.lang.counts for word in lead)
    called = any(is_name(word) for word in clause.words)
    return (vague or counted) and not called and _head(clause, "text_kinds")


def _head(clause: _Clause, part: str) -> bool:
    """Whether the object, the last noun before a preposition, is of a kind."""
    state, words = clause.state, clause.words
    last = next((i for i in range(len(words)) if _ends_object(state, words, i)), len(words))
    return any(state.has(part, word) or state.has(part, singular(word)) for word in words[max(0, last - 1) : last])


def _ends_object(state: Scan, words: list[str], i: int) -> bool:
    word = words[i]
    ends = ("prepositions", "relative", "join", "shown_here", "in_this_run")
    if word.endswith("ing"):
        return i > 0 and any(state.has(kind, words[i - 1]) for kind in ("compositions", "text_kinds"))
    if words[i : i + 2] == ["to", "do"]:
        return False
    return i > 0 and (word in PUNCTUATION or any(state.has(part, word) for part in ends) or is_name(word))


def _rewords(clause: _Clause) -> bool:
    """As in "I fixed the function below", "I rewrote the paragraph: ...", "I corrected the spelling in your text"."""
    if _shown(clause) and clause.has("shown_kinds"):
        return True
    if clause.words[:1] == ["the"] and len(clause.words) == 2 and clause.has("language_faults"):
        return True
    return clause.has("own_texts") and (bool(clause.content) or clause.has("language_faults"))


def _proofs(clause: _Clause) -> bool:
    """As in "I checked your message for spelling mistakes", "I reviewed your text"."""
    if clause.has("language_faults"):
        return True
    return (clause.words[:1] == ["your"] or clause.has("shown_here")) and _head(clause, "own_texts")
