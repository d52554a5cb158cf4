"""Verb forms in languages whose auxiliaries may stand anywhere in the clause (German, Romance, Japanese, ...)."""

from __future__ import annotations

from overclaim.outcome.language import Verb
from overclaim.outcome.model import Outcome
from overclaim.outcome.scan import Chain, Event, Scan, chain_before, clause_start, hypothetical, until

_LONGEST_FORM = 12  # characters of a verb form in a script without spaces


def inability(state: Scan, at: int) -> None:
    """As in "ich kann die Buchung nicht ändern": a verb of ability and a negation anywhere in one clause."""
    if not state.has("unable", state.words[at]):
        return
    start = clause_start(state, at)
    clause = state.words[start : until(state, at, state.stop)]
    if any(state.has("negation", word) for word in clause):
        own = any(state.has("self", word) for word in clause)
        state.add(Event(at, start, Outcome.FAILURE, soft=not own))


def deed_in_clause(state: Scan, at: int) -> None:
    """Read the verb form at an index, if there is one, by the auxiliaries and negations of its clause."""
    verb, length = _clause_form(state, at)
    if verb is None:
        return
    state.skip = max(state.skip, at + length)
    chain = chain_before(state, at)
    settled = state.lang.sets.get("settled", frozenset[str]())
    if hypothetical(state, chain) and settled.isdisjoint(chain.words):
        return
    if _is_rule(state, at + length, chain):
        state.describes = True
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


def _is_rule(state: Scan, after: int, chain: Chain) -> bool:
    """As in "sont effectués sous 7 jours": in the present and with a time limit, it is what holds in general."""
    helpers = {word for word in chain.words if state.has("be", word) or state.has("have", word)}
    if not helpers or not helpers <= state.lang.sets.get("present", frozenset()):
        return False
    words = state.words[after : after + 6]
    limits = (at for at, word in enumerate(words) if state.has("within", word))
    return any(word[0].isdigit() for at in limits for word in words[at + 1 : at + 3])


def _clause_form(state: Scan, at: int) -> tuple[Verb | None, int]:
    """The form that starts at a word; in scripts without spaces it may be several characters long."""
    if len(state.words[at]) > 1 or state.words[at].isascii():
        return state.lang.verbs.get(state.words[at]), 1
    for length in range(_LONGEST_FORM, 0, -1):
        verb = state.lang.verbs.get("".join(state.words[at : at + length]))
        if verb is not None:
            return verb, length
    return None, 1
