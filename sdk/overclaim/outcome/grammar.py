"""One sentence -> the events in it: what it says was done, not done, or is under way."""

from __future__ import annotations

from overclaim.outcome.clauses import Sentence
from overclaim.outcome.deeds import deed, denial
from overclaim.outcome.free_deeds import deed_in_clause, inability
from overclaim.outcome.language import Language
from overclaim.outcome.phrases import PHRASES, failed_answer
from overclaim.outcome.scan import Scan, is_modal


def scan(sentence: Sentence, words: list[str], lang: Language) -> Scan:
    """Read a sentence. words: its words as the language takes them apart."""
    state = Scan(lang, words, sentence)
    if sentence.question:
        return state
    done = 0
    for at in range(len(words)) if lang.unspaced else _worth_a_look(words, lang.watched):
        if at >= done:
            done = max(_step(state, at), state.skip)
    return state


def _worth_a_look(words: list[str], watched: frozenset[str]) -> list[int]:
    return [at for at, word in enumerate(words) if word in watched or word[-2:] == "ed" or word.isdecimal()]


def _step(state: Scan, at: int) -> int:
    word = state.words[at]
    if state.has("contrast", word):
        state.hedged = state.doubted = state.conditional = state.hypothesis = False
    elif word in state.lang.chain and is_modal(state, at) and state.words[at + 1 : at + 2] != ["not"]:
        state.modal = at
    for end, kind in state.lang.phrases_at(state.words, at) if word in state.lang.phrases else ():
        if taken := PHRASES[kind](state, at, end):
            return taken
    if state.lang.clause_reach:
        inability(state, at)
        deed_in_clause(state, at)
    elif word == "not":
        return denial(state, at)
    elif word.isdecimal():
        failed_answer(state, at)
    else:
        deed(state, at)
    return at + 1
