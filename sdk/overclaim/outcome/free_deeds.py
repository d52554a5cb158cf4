"""Verb forms in languages whose auxiliaries may stand anywhere in the clause (German, Romance, Japanese, ...)."""

from __future__ import annotations

from overclaim.outcome.language import Verb
from overclaim.outcome.model import Outcome
from overclaim.outcome.scan import Event, Scan, chain_before, clause_start, hypothetical

_LONGEST_FORM = 12  # characters of a verb form in a script without spaces


def deed_in_clause(state: Scan, at: int) -> None:
    """Read the verb form at an index, if there is one, by the auxiliaries and negations of its clause."""
    verb, length = _clause_form(state, at)
    if verb is None:
        return
    state.skip = max(state.skip, at + length)
    chain = chain_before(state, at)
    if hypothetical(state, chain):
        return
    if any(state.has("negation", word) for word in chain.words):
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE, verb.base, verb.action))
        return
    if chain.words & state.lang.sets.get("progress", frozenset()):
        state.add(Event(at, clause_start(state, at), Outcome.PARTIAL, verb.base, verb.action))
        return
    helped = any(state.has("be", word) or state.has("have", word) for word in chain.words)
    if verb.alone or helped or clause_start(state, at) == at:
        state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, verb.base, verb.action))


def _clause_form(state: Scan, at: int) -> tuple[Verb | None, int]:
    """The form that starts at a word; in scripts without spaces it may be several characters long."""
    if len(state.words[at]) > 1 or state.words[at].isascii():
        return state.lang.verbs.get(state.words[at]), 1
    for length in range(_LONGEST_FORM, 0, -1):
        verb = state.lang.verbs.get("".join(state.words[at : at + length]))
        if verb is not None:
            return verb, length
    return None, 1
