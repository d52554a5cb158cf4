"""One sentence -> the events in it: what it says was done, not done, or is under way."""

from __future__ import annotations

from overclaim.outcome.claims.answer_codes import counted_trouble, failed_answer
from overclaim.outcome.claims.clauses import Sentence
from overclaim.outcome.claims.deeds import deed
from overclaim.outcome.claims.denials import WORTHY, denied_habit, denied_state
from overclaim.outcome.claims.denied_deeds import denial
from overclaim.outcome.claims.findings import FORMED, finding
from overclaim.outcome.claims.free_deeds import deed_in_clause, inability, managed, settled_now
from overclaim.outcome.claims.free_findings import bad_word, clause_denial, out_of_reach, parted
from overclaim.outcome.claims.language import Language
from overclaim.outcome.claims.phrases import PHRASES
from overclaim.outcome.claims.scan import HABIT, Event, Scan, clause_start, is_modal
from overclaim.outcome.claims.statives import now_does
from overclaim.outcome.model import Outcome


def scan(sentence: Sentence, words: list[str], lang: Language) -> Scan:
    """Read a sentence. words: its words as the language takes them apart."""
    state = Scan(lang, words, sentence)
    if sentence.question:
        return state
    state.partial = bool(words) and state.has("only_first", words[0])
    done = 0
    for at in range(len(words)) if lang.clause_reach else _worth_a_look(words, lang):
        if at >= done:
            done = max(_step(state, at), state.skip)
    return state


def _worth_a_look(words: list[str], lang: Language) -> list[int]:
    """The indexes of words that can make something of a sentence; what each is by itself is kept for the next text."""
    telling = lang.tells
    last = len(words) - 1
    return [
        at
        for at, word in enumerate(words)
        if (seconds := telling[word]) is not None and (not seconds or (at < last and words[at + 1] in seconds))
    ]


def _step(state: Scan, at: int) -> int:
    lang, word = state.lang, state.words[at]
    if word not in lang.heads:
        pass
    elif state.has("contrast", word):
        state.hedged = state.doubted = state.conditional = state.hypothesis = False
    elif word in lang.chain and is_modal(state, at) and state.words[at + 1 : at + 2] != ["not"]:
        state.modal = at
    for end, kind in lang.phrases_at(state.words, at) if word in lang.phrases else ():
        if taken := PHRASES[kind](state, at, end):
            return taken
    if lang.clause_reach:
        return _step_in_clause(state, at)
    if (word in lang.telling or word[-2:] in FORMED or word.isdecimal()) and (taken := finding(state, at)):
        return taken
    if word == "not":
        return _denied(state, at)
    if state.has("from_now", word) and (taken := now_does(state, at)):
        return taken
    deed(state, at)
    return at + 1


def _step_in_clause(state: Scan, at: int) -> int:
    """A word of a language whose auxiliaries may stand anywhere in the clause."""
    if taken := (out_of_reach if state.lang.unspaced else bad_word)(state, at):
        return taken
    parted(state, at)
    inability(state, at)
    managed(state, at)
    failed_answer(state, at)
    counted_trouble(state, at)
    deed_in_clause(state, at)
    if state.lang.unspaced:
        settled_now(state, at)
    else:
        clause_denial(state, at)
    return at + 1


def _denied(state: Scan, at: int) -> int:
    """A deed denied, or a good state: "was not sent", "is not free"."""
    known = len(state.events)
    end = denial(state, at)
    if len(state.events) > known or state.mode == "rule":
        return end
    if denied_habit(state, at):
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE, soft=True, mode=HABIT))
    elif denied_state(state, at):
        waiting = "yet" in state.words[at - 2 : at + 5]
        outcome = Outcome.PARTIAL if waiting else Outcome.FAILURE
        rule = any(_may_be(state, word) for word in state.words[at + 1 : at + 3])
        state.add(Event(at, clause_start(state, at), outcome, soft=rule, mode="finding"))
    return end


def _may_be(state: Scan, word: str) -> bool:
    """As in "is not refundable": what holds in general."""
    return word.endswith(WORTHY) and not state.has("good_states", word)
