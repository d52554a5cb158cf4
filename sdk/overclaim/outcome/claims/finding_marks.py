"""What every kind of finding needs: the event it makes, and what stands around a word."""

from __future__ import annotations

from overclaim.outcome.claims.scan import CLEAN, Chain, Event, Scan, clause_start, is_adverb
from overclaim.outcome.model import Outcome


def bad(state: Scan, at: int, *, soft: bool = False) -> int:
    """Keep a bad finding at a word; the index to go on from."""
    if not state.hedged:
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE, soft=soft, mode="finding"))
    return at + 1


def good(state: Scan, at: int) -> int:
    """Keep a good state at a word; the index to go on from."""
    state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode="state"))
    return at + 1


def clean(state: Scan, at: int) -> int:
    """Keep that there is no trouble, which yields to any trouble told later; the index to go on from."""
    state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode=CLEAN))
    return at + 1


def subject_of(state: Scan, chain: Chain) -> list[str]:
    """The words of the clause before an auxiliary chain."""
    return state.words[clause_start(state, chain.first) : chain.first]


def holds_when(state: Scan, at: int) -> bool:
    """Whether the clause goes on with "when", "if": then it is a rule."""
    return any(word in ("when", "if", "whenever", "unless", "until") for word in state.words[at + 1 : at + 8])


def in_general(state: Scan, at: int) -> bool:
    """As in "the command fails when the file is missing": no deed of this run."""
    if not state.has("fails_in_general", state.words[at]) or state.events:
        return False
    return state.any_of("when", state.words[at + 1 : at + _CONDITION])


_CONDITION = 9  # words from a verb to its condition


def is_head(state: Scan, at: int) -> bool:
    """Whether a noun of trouble stands for itself; an "error message" and a "bug report" are no trouble."""
    if state.stop(at + 1):
        return True
    after = state.words[at + 1]
    small = any(state.has(part, after) for part in ("prepositions", "join", "relative", "after_verb", "be", "adverbs"))
    return small or after in state.lang.chain or is_adverb(after)
