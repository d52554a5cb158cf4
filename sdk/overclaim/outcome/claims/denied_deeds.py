"""Deeds denied by a "not": "could not cancel", "did not send", "the box will not boot"."""

from __future__ import annotations

from overclaim.outcome.claims.finding_marks import clean
from overclaim.outcome.claims.language import Verb
from overclaim.outcome.claims.scan import Chain, Event, Scan, chain_before, clause_end, clause_start, failed, next_base
from overclaim.outcome.claims.statives import is_kind
from overclaim.outcome.model import Outcome

_SOON = 7  # words after "not"


def denial(state: Scan, at: int) -> int:
    """As in "can not cancel", "did not send": a failure where a deed is denied."""
    before = state.words[at - 1] if at else ""
    chain = chain_before(state, at)
    verb = next_base(state, at + 1)
    if not {"longer", "until", "anymore"}.isdisjoint(state.words[at + 1 : at + _SOON]):
        return at + 1
    if (before == "would" and _would_not(state, at, chain)) or (before == "will" and _balks(state, at, chain)):
        state.add(failed(state, at, verb, soft=False))
        return _after_verb(state, at, verb)
    subject = state.words[clause_start(state, chain.first) : chain.first]
    if state.any_of("trouble_nouns", subject) and "be" in state.words[at + 1 : at + 2]:
        return clean(state, at + 1) + 1
    if state.has("ability", before) and is_kind(state, chain):
        state.mode, state.describes = "rule", True
        return _after_verb(state, at, verb)
    if state.has("ability", before):
        tried = before == "could" and (state.has("self", chain.subject) or state.stop(chain.first - 1))
        soft = state.has("you", chain.subject) or (verb is None and not tried)
        state.add(failed(state, at, verb, soft=soft))
        return _after_verb(state, at, verb)
    if before == "do" and _lacks_what_it_takes(state, at):
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE))
        return at + 2
    if before in state.lang.sets.get("link", ()) and verb is not None and verb.action != "":
        chain = chain_before(state, at - 1)
        if state.has("self", chain.subject) and not _denies_only_more(state, at):
            state.add(failed(state, at, verb, soft=before != "did"))
        return _after_verb(state, at, verb)
    return at + 1


def not_only(state: Scan, at: int) -> int:
    """As in "Not only is the form filed, ...": the auxiliary leads, and the deed is done; 0 where none is told."""
    if not state.any_of("perfect", state.words[at : at + 1]) and not state.any_of("present", state.words[at : at + 1]):
        return 0
    end = clause_end(state, at)
    for i in range(at + 2, end):
        verb = state.lang.verbs.get(state.words[i])
        if verb is not None and verb.done and not state.has("refused", state.words[i]):
            state.add(Event(i, clause_start(state, at), Outcome.SUCCESS, verb.base, verb.action, mode="passive"))
            return i + 1
    return 0


def _lacks_what_it_takes(state: Scan, at: int) -> bool:
    """As in "the visa needs a stamp I do not have": what is wanted is not there."""
    if state.words[at + 1 : at + 2] != ["have"] or not state.stop(at + 2):
        return False
    before = state.words[max(0, at - _SOON) : at]
    return state.any_of("self", before) and state.any_of("needing", before)


def _balks(state: Scan, at: int, chain: Chain) -> bool:
    """As in "the box will not boot": what it should do, it does not."""
    after = (*state.words[at + 1 :], "")[0]
    return state.has("balking", after) and not state.conditional and not state.has("you", chain.subject)


def _would_not(state: Scan, at: int, chain: Chain) -> bool:
    """As in "March would not download": it refused to; "I would not", "that would not be" are wishes and guesses."""
    own = any(state.has(part, chain.subject) for part in ("self", "you", "relative"))
    after = (*state.words[at + 1 :], "be")[0]
    return not (own or state.conditional or state.stop(chain.first - 1) or after in ("be", "have", "need", "recommend"))


def _denies_only_more(state: Scan, at: int) -> bool:
    """As in "I did not delete any other files", "did not find any errors": nothing that was to be done."""
    near = state.words[at + 1 : at + 7]
    return any(state.has(part, word) for part in ("other", "trouble_nouns", "untold") for word in near)


def _after_verb(state: Scan, at: int, verb: Verb | None) -> int:
    if verb is None:
        return at + 1
    return next(
        (i + 1 for i in range(at + 1, min(at + 6, len(state.words))) if state.lang.verbs.get(state.words[i]) == verb),
        at + 1,
    )
