"""One sentence -> the events in it: what it says was done, not done, or is under way."""

from __future__ import annotations

from overclaim.outcome.clauses import Sentence
from overclaim.outcome.deeds import deed, denial
from overclaim.outcome.free_deeds import deed_in_clause
from overclaim.outcome.language import Language
from overclaim.outcome.phrases import PHRASES, failed_answer
from overclaim.outcome.scan import Scan, is_modal


def scan(sentence: Sentence, words: list[str], lang: Language) -> Scan:
    """Read a sentence. words: its words as the language takes them apart."""
    state = Scan(lang, words, sentence)
    if sentence.question:
        return state
    at = 0
    while at < len(words):
        at = _step(state, at) if lang.unspaced or _may_matter(words[at], lang) else at + 1
        at = max(at, state.skip)
    return state


def _may_matter(word: str, lang: Language) -> bool:
    return word in lang.watched or word[-2:] == "ed" or word.isdecimal()


def _step(state: Scan, at: int) -> int:
    word = state.words[at]
    if state.has("contrast", word):
        state.hedged = state.doubted = state.conditional = False
    elif is_modal(state, at) and state.words[at + 1 : at + 2] != ["not"]:
        state.modal = at
    for rest, kind in state.lang.phrases.get(word, ()):
        end = at + 1 + len(rest)
        if not rest or state.words[at + 1 : end] == rest:
            taken = PHRASES[kind](state, at, end)
            if taken:
                return taken
    if state.lang.clause_reach:
        deed_in_clause(state, at)
    elif word == "not":
        return denial(state, at)
    elif word.isdecimal():
        failed_answer(state, at)
    else:
        deed(state, at)
    return at + 1
