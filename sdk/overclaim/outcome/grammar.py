"""One sentence -> the events in it: what it says was done, not done, or is under way."""

from __future__ import annotations

from overclaim.outcome.answer_codes import counted_trouble, failed_answer
from overclaim.outcome.clauses import Sentence
from overclaim.outcome.deeds import deed, denial
from overclaim.outcome.denials import denied_habit, denied_state
from overclaim.outcome.findings import finding
from overclaim.outcome.free_deeds import deed_in_clause, inability
from overclaim.outcome.language import Language
from overclaim.outcome.model import Outcome
from overclaim.outcome.phrases import PHRASES
from overclaim.outcome.scan import Event, Scan, clause_start, is_modal


def scan(sentence: Sentence, words: list[str], lang: Language) -> Scan:
    """Read a sentence. words: its words as the language takes them apart."""
    state = Scan(lang, words, sentence)
    if sentence.question:
        return state
    state.partial = bool(words) and state.has("only_first", words[0])
    done = 0
    for at in range(len(words)) if lang.unspaced else _worth_a_look(words, lang.watched):
        if at >= done:
            done = max(_step(state, at), state.skip)
    return state


def _worth_a_look(words: list[str], watched: frozenset[str]) -> list[int]:
    return [
        at
        for at, word in enumerate(words)
        if word in watched or word[-2:] == "ed" or word[-3:] == "ble" or word.isdecimal()
    ]


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
        failed_answer(state, at)
        counted_trouble(state, at)
        deed_in_clause(state, at)
    elif taken := finding(state, at):
        return taken
    elif word == "not":
        return _denied(state, at)
    else:
        deed(state, at)
    return at + 1


def _denied(state: Scan, at: int) -> int:
    """A deed denied, or a good state: "was not sent", "is not free"."""
    known = len(state.events)
    end = denial(state, at)
    if len(state.events) > known or state.mode == "rule":
        return end
    if denied_habit(state, at):
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE, soft=True, mode="habit"))
    elif denied_state(state, at):
        waiting = "yet" in state.words[at - 2 : at + 5]
        outcome = Outcome.PARTIAL if waiting else Outcome.FAILURE
        state.add(Event(at, clause_start(state, at), outcome, mode="finding"))
    return end
