"""Phrases that say how something stands now: "is live", "works", "done", "was able to"."""

from __future__ import annotations

from overclaim.outcome.claims.clauses import is_name
from overclaim.outcome.claims.scan import (
    SILENT,
    Event,
    Scan,
    ahead,
    chain_before,
    clause_start,
    denied,
    ends_well,
    hypothetical,
    next_base,
    until,
)
from overclaim.outcome.model import Outcome


def over(state: Scan, at: int, end: int) -> int:
    """As in "tritt nicht mehr auf": the trouble is over, for all that it says "not"."""
    state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode="state"))
    return until(state, end, state.stop)


def located(state: Scan, at: int, end: int) -> int:
    """As in "the booking is in the system", "Ann is in the group now": it has arrived where it belongs."""
    reached = state.words[at] == "went" and any(map(is_name, state.words[end : end + 1]))
    if not reached and not any(state.has("containers", word) or word == "now" for word in state.words[end : end + 5]):
        return 0
    before = chain_before(state, at)
    if state.has("nobody", before.subject) or not before.subject or ahead(state, at):
        return 0
    subject = state.words[clause_start(state, at) : before.first]
    if any(state.has("trouble_nouns", word) or state.has("nobody", word) for word in subject):
        return 0
    return _stative(state, at, end, needs_be=False, mode="state")


def generic(state: Scan, at: int, end: int) -> int:
    """As in "Done", "all set", "is complete": not "complete list", "I complete", "have done it"."""
    if at and state.mode in SILENT and (state.stop(at - 1) or state.has("join", state.words[at - 1])):
        return 0
    verb = state.lang.verbs.get(state.words[at]) if end - at == 1 else None
    if verb and (_chained(state, at) or not ends_well(state, end) or (verb.bare and _has_object(state, end))):
        return 0
    return _stative(state, at, end, needs_be=False)


def _has_object(state: Scan, end: int) -> bool:
    """As in "complete the exchange"."""
    return end < len(state.words) and state.has("articles", state.words[end])


def _chained(state: Scan, at: int) -> bool:
    before = chain_before(state, at)
    return bool(before.words) or state.has("self", before.subject) or state.has("you", before.subject)


def works(state: Scan, at: int, end: int) -> int:
    """As in "works", "passed", "ran through": it did what it should."""
    word = state.words[at]
    if word in state.lang.verbs and (_chained(state, at) or (state.stop(at - 1) and not _after_aside(state, at))):
        return 0
    if not ends_well(state, end) or (
        end - at == 1 and not word.endswith(("s", "ed", "ful")) and not _plural(state, at)
    ):
        return 0
    return _stative(state, at, end, needs_be=False)


def _after_aside(state: Scan, at: int) -> bool:
    """As in "the export, which failed yesterday, | ran through": the verb of what stands before the aside."""
    opened = [i for i in range(1, at - 1) if state.words[i] == "," and state.has("describing", state.words[i + 1])]
    return bool(opened) and state.words[at - 1] == ","


def _plural(state: Scan, at: int) -> bool:
    before = chain_before(state, at)
    return before.subject.endswith("s") or before.subject in ("all", "both", "they") or state.lang.clause_reach


def stands_so(state: Scan, at: int, end: int) -> int:
    """As in "is live", "is ready"."""
    return (
        _stative(state, at, end, needs_be=True, mode="state") if state.lang.clause_reach or ends_well(state, end) else 0
    )


def now(state: Scan, at: int, end: int) -> int:
    """As in "is now", "can now"."""
    if end < len(state.words) and state.words[end] in state.lang.verbs and state.lang.verbs[state.words[end]].done:
        return 0
    return _stative(state, at, end, needs_be=False, mode="state")


def _stative(state: Scan, at: int, end: int, *, needs_be: bool, mode: str = "") -> int:
    before = chain_before(state, at)
    helped = not (before.words & state.lang.sets.get("be", frozenset())) <= _BARE
    if not helped and not state.lang.clause_reach and ahead(state, at):
        return 0
    if needs_be and not any(state.has("be", word) or state.has("looks", word) for word in before.words):
        return 0
    if hypothetical(state, before) or before.words & state.lang.sets.get("seems", frozenset()):
        return end
    if state.has("determiners", before.subject) and not before.words and not ends_well(state, end):
        return 0
    outcome = Outcome.FAILURE if denied(state, before) else Outcome.SUCCESS
    verb = state.words[at] if end - at == 1 else ""
    state.add(Event(at, clause_start(state, at), outcome, verb=verb, end=end, mode=mode))
    return end


_BARE = frozenset({"get", "be"})  # "I will check it and get back to you" is still to come


def able(state: Scan, at: int, end: int) -> int:
    """As in "was able to send", "managed to": the deed after it was done."""
    verb = next_base(state, end)
    base, action = (verb.base, verb.action) if verb else ("", "")
    state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, base, action, end=end))
    return end
