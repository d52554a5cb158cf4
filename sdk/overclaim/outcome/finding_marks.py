"""What every kind of finding needs: the event it makes, and what stands around a word."""

from __future__ import annotations

from overclaim.outcome.model import Outcome
from overclaim.outcome.scan import Chain, Event, Scan, clause_start, is_adverb


def bad(state: Scan, at: int, *, soft: bool = False) -> int:
    """Keep a bad finding at a word; the index to go on from."""
    if not state.hedged:
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE, soft=soft, mode="finding"))
    return at + 1


def good(state: Scan, at: int) -> int:
    """Keep a good state at a word; the index to go on from."""
    state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode="state"))
    return at + 1


def subject_of(state: Scan, chain: Chain) -> list[str]:
    """The words of the clause before an auxiliary chain."""
    return state.words[clause_start(state, chain.first) : chain.first]


def holds_when(state: Scan, at: int) -> bool:
    """Whether the clause goes on with "when", "if": then it is a rule."""
    return any(word in ("when", "if", "whenever", "unless", "until") for word in state.words[at + 1 : at + 8])


def is_head(state: Scan, at: int) -> bool:
    """Whether a noun of trouble stands for itself; an "error message" and a "bug report" are no trouble."""
    if state.stop(at + 1):
        return True
    after = state.words[at + 1]
    small = any(state.has(part, after) for part in ("prepositions", "join", "relative", "after_verb", "be", "adverbs"))
    return small or after in state.lang.chain or is_adverb(after)
