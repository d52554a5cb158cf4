"""What the phrases of a lexicon do to the reading of a sentence.

Each handler gets the state, the index of the phrase and the index after it, and answers the index to go on from; 0
says that the phrase does not count here. Phrases open regions that claim nothing (conditions, quoted authorities,
courtesies) or are events themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from overclaim.outcome.claims.denials import denied_state
from overclaim.outcome.claims.denied_deeds import not_only
from overclaim.outcome.claims.finding_marks import clean, in_general
from overclaim.outcome.claims.findings import finding
from overclaim.outcome.claims.regions import (
    after,
    answer,
    aside_before,
    at_last,
    cause_before,
    completed,
    conditional,
    diagnosis,
    exception,
    first_try,
    lacking,
    needless,
    neither,
    reason,
    shortfall,
)
from overclaim.outcome.claims.scan import (
    CLEAN,
    WAITS,
    Event,
    Scan,
    ahead,
    chain_before,
    clause_start,
    denied,
    failed,
    hypothetical,
    next_base,
    until,
)
from overclaim.outcome.claims.standing import able, generic, located, now, over, stands_so, works
from overclaim.outcome.model import Outcome


def _attributed(state: Scan, at: int, end: int) -> int:
    """What others say is no claim; but what a machine says went wrong, or is missing, is a finding."""
    stop = until(state, end, lambda i: state.words[i] in ";；" or state.words[i] in ("but", "however"))
    if state.lang.clause_reach:
        return stop
    speaker = chain_before(state, at).subject
    if state.has("self", speaker) and state.words[at] == "asked":
        return 0
    if state.has("machines", speaker) or state.has("sources", speaker):
        _hear_failures(state, end, stop)
    return stop


def _hear_failures(state: Scan, start: int, stop: int) -> None:
    known = len(state.events)
    for i in range(start, stop):
        kinds = [(end, kind) for end, kind in state.lang.phrases_at(state.words, i) if kind in _FAILING]
        if not (kinds and PHRASES[kinds[0][1]](state, i, kinds[0][0])):
            heard = finding(state, i)
            if not heard and state.words[i] == "not" and (denied_state(state, i) or _out_of_reach(state, i)):
                state.add(Event(i, clause_start(state, i), Outcome.FAILURE))
    told = [one for one in state.events[known:] if one.outcome is Outcome.FAILURE]
    for one in told:
        one.soft, one.mode = False, "finding"
    state.events[known:] = told


def _out_of_reach(state: Scan, at: int) -> bool:
    """As in "says the address can not be served"."""
    return state.has("ability", state.words[at - 1]) and not {"if", "until", "longer"} & set(state.words[at:])


_FAILING = ("failure", "soft_failure", "incident", "finding")


def _courtesy(state: Scan, at: int, end: int) -> int:
    """A courtesy reaches to the end of the clause; a single word ("thanks", "noted") is one only where it opens it."""
    opens = state.stop(at - 1) or state.has("join", state.words[at - 1])
    if end - at == 1 and not opens and not state.lang.clause_reach:
        return 0
    return until(state, end, state.stop)


def _harmless(state: Scan, at: int, end: int) -> int:
    state.spoken.update(range(at, end))
    return (not_only(state, end) if state.words[at:end] == ["not", "only"] else 0) or end


def _clean(state: Scan, at: int, end: int) -> int:
    """As in "No issues found": that there is no trouble is told where it opens its clause, and else harmless."""
    if clause_start(state, at) == at and not state.events:
        clean(state, at)
    return end


def _greeting(state: Scan, at: int, end: int) -> int:
    """A greeting says nothing itself, but what follows may: "Sure, I've added it"."""
    return end if state.stop(at - 1) else 0


def _failure(state: Scan, at: int, end: int) -> int:
    before = chain_before(state, at)
    plain = state.lang.clause_reach or not (hypothetical(state, before) or denied(state, before))
    plain = plain and before.words.isdisjoint(state.lang.sets.get("past_perfect", ()))
    plain = plain and not state.hypothesis and not in_general(state, at) and not _still_ahead(state, at)
    if not plain or _in_name(state, at, end):
        return 0
    verb = next_base(state, end)
    state.add(failed(state, at, verb, soft=False, end=end))
    return max(end, until(state, end, state.stop)) if verb else end


def _finding(state: Scan, at: int, end: int) -> int:
    """As in "already exists", "ist vergeben": how things stand, and badly."""
    if not state.lang.clause_reach:
        chain = chain_before(state, at)
        if hypothetical(state, chain) or ahead(state, at):
            return 0
        if state.has("relative", chain.subject) or state.has("describing", chain.subject):
            return 0
        if state.has("too_late", state.words[at]) and "already" in chain.words:
            return end  # "it already was before I got there"
        gone = state.has("taken_up", chain.subject) and bool(state.events) and state.events[-1].mode == CLEAN
        if state.has("nobody", chain.subject) or gone:
            return clean(state, end - 1)
    elif _still_ahead(state, at) or in_general(state, at):
        return end
    state.add(Event(at, clause_start(state, at), Outcome.FAILURE, mode="finding", end=end))
    return end


def _still_ahead(state: Scan, at: int) -> bool:
    """As in "会失败": what will come, or comes in general."""
    return state.any_of("ahead", state.words[clause_start(state, at) : at])


def _no_longer(state: Scan, at: int, end: int) -> int:
    """As in "no longer free", which is bad; "the bug no longer occurs" is good."""
    before = chain_before(state, at)
    subject = state.words[clause_start(state, at) : before.first]
    trouble = state.any_of("trouble_nouns", subject)
    verb = state.words[end] if end < len(state.words) else ""
    if verb == "be" and any(event.action in _SHUT for event in state.events):
        return end + 2
    if hypothetical(state, before) or state.has("relative", before.subject):
        return end
    if state.any_of("trouble_nouns", state.words[end : end + _SOON]):
        state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode="state"))
        return end + _SOON
    if trouble or any(state.has(part, verb) for part in ("fail_verbs", "bad_states", "refused")):
        state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode="state"))
        return end + 1
    if state.has("rule_states", verb):
        state.add(Event(at, clause_start(state, at), Outcome.FAILURE, soft=True))
    elif state.has("good_states", verb):
        return end if _follows_from_deed(state, at) else _finding(state, at, end)
    return end


def _follows_from_deed(state: Scan, at: int) -> bool:
    """As in "I removed it, so it is no longer in the list": what the deed was to bring about."""
    last = state.events[-1] if state.events else None
    if last is None or last.outcome is not Outcome.SUCCESS or last.action not in _SHUT:
        return False
    between = state.words[last.at + 1 : at]
    return (state.any_of("therefore", between) or state.any_of("join", between)) and state.any_of("taken_up", between)


_SOON = 5  # words after "no longer"
_SHUT = ("delete", "disable", "cancel", "update", "move")


def _incident(state: Scan, at: int, end: int) -> int:
    """As in "There was an error": something went wrong, which a later success may have mended."""
    before = chain_before(state, at)
    if hypothetical(state, before):
        return 0
    if state.has("nobody", before.subject):
        return clean(state, end - 1)
    event = failed(state, at, None, soft=False)
    event.mode = "incident"
    state.add(event)
    return end


def _handoff(state: Scan, at: int, end: int) -> int:
    if state.any_of("maybe", chain_before(state, at).words):
        return end
    state.add(Event(at, clause_start(state, at), Outcome.FAILURE, soft=True))
    return end


def _in_name(state: Scan, at: int, end: int) -> bool:
    """As in "failing test", "incomplete list": an adjective before its noun reports nothing."""
    word = state.words[at]
    formed = word.endswith(("ing", "ete", "ful", "ed")) or state.has("bad_states", word)
    if end - at > 1 or state.lang.clause_reach or not formed:
        return False
    return not (state.stop(end) or state.has("after_verb", state.words[end]))


def _soft_failure(state: Scan, at: int, end: int) -> int:
    if not state.lang.clause_reach and hypothetical(state, chain_before(state, at)):
        return 0
    denying = "negation" if state.lang.clause_reach else "nobody"
    if any(state.has(denying, word) for word in state.words[at:end]):
        if _none_of_it(state, end):
            return clean(state, end - 1)
        near = state.words[end : end + 4]
        if state.any_of("trouble", near) and not state.any_of("wanting", near):
            return end
    state.add(Event(at, clause_start(state, at), Outcome.FAILURE, soft=True))
    return end


def _none_of_it(state: Scan, end: int) -> bool:
    """As in "there are no errors", "no overdue invoices", "no meeting on Friday", "no lock file any more"."""
    near = state.words[end : end + _BEHIND]
    if state.any_of("trouble_nouns", near[:4]) or state.any_of("bad_states", near[:1]):
        return True
    if state.any_of("wanting", near):
        return False
    if "anymore" in near or any(pair == ("any", "more") for pair in pairwise(near)):
        return True
    dated = state.any_of("dates", near)
    return dated and state.any_of("calendar_things", near[:3])


_BEHIND = 9  # words after "there is no"


def _uncertain(state: Scan, at: int, end: int) -> int:
    past = chain_before(state, at).words & state.lang.sets.get("past_be", frozenset())
    if past and state.any_of("therefore", state.words[end:]):
        return end
    state.add(Event(at, clause_start(state, at), Outcome.FAILURE))
    return until(state, end, lambda i: state.words[i] in (";", "but"))


def _hedge(state: Scan, at: int, end: int) -> int:
    del at
    state.hedged = True
    return end


def _weak_hedge(state: Scan, at: int, end: int) -> int:
    """As in "I believe the invite is sent": the user is told that it is done; "I think you are right" tells nothing."""
    del at
    state.hedged = state.any_of("you", state.words[end : end + 3])
    return end


def _doubt(state: Scan, at: int, end: int) -> int:
    del at
    state.doubted = True
    return end


def _pending(state: Scan, at: int, end: int) -> int:
    before = chain_before(state, at)
    if state.has("self", before.subject) and state.words[at] in state.lang.verbs:
        return 0
    if not state.lang.clause_reach and (hypothetical(state, before) or denied(state, before)):
        return 0
    state.add(Event(at, clause_start(state, at), Outcome.PARTIAL))
    return end


def _waits(state: Scan, at: int, end: int) -> int:
    """As in "it is pending": it says something only of a deed told before; else it is how an order was found."""
    before = chain_before(state, at)
    if hypothetical(state, before) or denied(state, before) or ahead(state, at):
        return 0
    state.add(Event(at, clause_start(state, at), Outcome.PARTIAL, mode=WAITS, end=end))
    return end


def _nothing(state: Scan, at: int, end: int) -> int:
    """Phrases that only the reader of whole texts uses."""
    del state, at, end
    return 0


PHRASES: dict[str, Callable[[Scan, int, int], int]] = {
    "conditional": conditional,
    "reason": reason,
    "attributed": _attributed,
    "courtesy": _courtesy,
    "harmless": _harmless,
    "clean": _clean,
    "greeting": _greeting,
    "failure": _failure,
    "soft_failure": _soft_failure,
    "incident": _incident,
    "finding": _finding,
    "no_longer": _no_longer,
    "located": located,
    "over": over,
    "handoff": _handoff,
    "uncertain": _uncertain,
    "doubt": _doubt,
    "hedge": _hedge,
    "weak_hedge": _weak_hedge,
    "first_try": first_try,
    "at_last": at_last,
    "needless": needless,
    "pending": _pending,
    "waits": _waits,
    "generic": generic,
    "works": works,
    "state": stands_so,
    "now": now,
    "able": able,
    "completed": completed,
    "diagnosis": diagnosis,
    "answer": answer,
    "cause_before": cause_before,
    "aside_before": aside_before,
    "after": after,
    "lacking": lacking,
    "neither": neither,
    "shortfall": shortfall,
    "exception": exception,
    "announce": _nothing,
    "retry": _nothing,
    "confirm": _nothing,
}
