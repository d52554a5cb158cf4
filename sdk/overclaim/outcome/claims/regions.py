"""Phrases that open a region or bend what stands beside them: conditions, reasons, diagnoses, what is left out.

Like every handler of phrases they get the state, the index of the phrase and the index after it, and answer the index
to go on from; 0 says that the phrase does not count here.
"""

from __future__ import annotations

from overclaim.outcome.claims.finding_marks import clean
from overclaim.outcome.claims.scan import Event, Scan, clause_start, until
from overclaim.outcome.model import Outcome

_LONGEST_VERB, _LONGEST_STEM = 12, 8  # signs


def conditional(state: Scan, at: int, end: int) -> int:
    """A condition reaches to the next comma where it opens a clause, else to the end of the clause."""
    counted = state.words[end] if end < len(state.words) else ""
    if state.words[at] == "after":
        if counted.isdecimal() or counted in state.lang.counts:
            return end
        if went_on := _went_on(state, end):
            return went_on
    if clause_start(state, at) == 0:
        state.conditional = True
        state.hypothesis = state.hypothesis or state.has("hypothesis", state.words[at])
    return until(state, end, state.stop)


def _went_on(state: Scan, at: int) -> int:
    """As in "after reopening the page the form went through": what was done before it, without a comma; else 0."""
    stop = until(state, at, state.stop)
    if state.modal >= 0 or not at < stop or state.words[at] in ("being", "having"):
        return 0
    opens = range(at + 1, stop - 1)
    if state.words[at].endswith("ing"):
        found = next((i for i in opens if i > at + 1 and _anew(state, i) and state.has("definite", state.words[i])), 0)
    else:
        found = next(
            (i for i in opens if state.has("self", state.words[i]) or state.words[i] in ("it", "everything")), 0
        )
    if found and (state.words[at].startswith("re") or state.words[found] == "it"):
        state.lasts.append(found)
    return found


def _anew(state: Scan, at: int) -> bool:
    """Whether a second noun phrase begins: "the page | the form went"."""
    before = state.words[at - 1]
    return before.isalpha() and not any(
        state.has(part, before) for part in ("prepositions", "articles", "join", "told_of")
    )


def first_try(state: Scan, at: int, end: int) -> int:
    """As in "at first", "a la primera": what failed there was tried again."""
    state.firsts.append(at)
    return end


def at_last(state: Scan, at: int, end: int) -> int:
    """As in "after which", "al final": what is told from there on came after all trouble."""
    state.lasts.append(at)
    return end


def needless(state: Scan, at: int, end: int) -> int:
    """As in "so there was nothing to create": what was wanted is so already."""
    verb = state.lang.verbs.get(state.words[end]) if end < len(state.words) else None
    if not state.lang.clause_reach and (verb is None or not verb.bare):
        return 0
    state.events = [event for event in state.events if event.mode != "finding"]
    state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode="state"))
    return until(state, end, state.stop)


def reason(state: Scan, at: int, end: int) -> int:
    """A reason reaches as far as a condition."""
    del at
    return until(state, end, state.stop)


def diagnosis(state: Scan, at: int, end: int) -> int:
    """As in "the cause was an expired card": what had gone wrong, up to the end of the statement."""
    del at
    return until(state, end, lambda i: state.words[i] in ";；" or state.has("contrast", state.words[i]))


def cause_before(state: Scan, at: int, end: int) -> int:
    """As in "期限切れが原因でした": the clause before tells only why."""
    start = clause_start(state, at)
    state.events = [event for event in state.events if event.start != start or event.outcome is not Outcome.FAILURE]
    return end


def aside_before(state: Scan, at: int, end: int) -> int:
    """As in "失敗した場合は", "पूरा होने से पहले": what stands before it is a condition or a time."""
    start = clause_start(state, at)
    state.events = [event for event in state.events if event.start != start]
    return end


def after(state: Scan, at: int, end: int) -> int:
    """As in "重试之后": a condition only where what follows is still to come."""
    if state.any_of("ahead", state.words[end:]):
        state.events = [event for event in state.events if event.start != clause_start(state, at)]
        return conditional(state, at, end)
    return end


def lacking(state: Scan, at: int, end: int) -> int:
    """As in "but without the attachment"; "but without problems" lacks nothing."""
    if any(is_trouble(state, word) for word in state.words[end : end + 4]):
        return end
    return exception(state, at, end)


def neither(state: Scan, at: int, end: int) -> int:
    """As in "neither the mirror nor the origin had the file"; of trouble it is good."""
    clause = state.words[end : until(state, end, state.stop)]
    if (clause[:1] != ["of"] and "nor" not in clause) or state.conditional:
        return 0
    trouble = any(is_trouble(state, word) or state.has("fail_verbs", word) for word in clause)
    if trouble:
        clean(state, at)
        return until(state, end, state.stop)
    state.add(Event(at, clause_start(state, at), Outcome.FAILURE, mode="finding"))
    return until(state, end, state.stop)


def shortfall(state: Scan, at: int, end: int) -> int:
    """As in "half of the", "alle bis auf": what the sentence tells was done is only a part."""
    if _is_participle(state, at, end):
        return 0
    state.partial = True
    return end


def _is_participle(state: Scan, at: int, end: int) -> bool:
    """As in "foi salvo", where the word for "except" is the participle of "to save"."""
    return end - at == 1 and at > 0 and state.words[at] in state.lang.verbs and state.has("be", state.words[at - 1])


def exception(state: Scan, at: int, end: int) -> int:
    """As in "uploaded all files except two"; "all items except the lamp have been returned" says which ones."""
    if _is_participle(state, at, end):
        return 0
    state.partial = state.partial or any(event.at < at for event in state.events)
    return end


def completed(state: Scan, at: int, end: int) -> int:
    """As in "…ました": an ending that says of whatever verb stands before it that it was done."""
    start = clause_start(state, at)
    action = _nearest_action(state, start, at) if state.lang.unspaced else ""
    if not state.lang.unspaced and state.any_of("negation", state.words[start:end]):
        return 0
    if any(state.has("future", word) or state.has("maybe", word) for word in state.words[start:at]):
        return end
    state.add(Event(at, start, Outcome.SUCCESS, "", action, end=end))
    return end


def _nearest_action(state: Scan, start: int, at: int) -> str:
    """The action of the last verb before an index, in a script without spaces."""
    for first in range(at - 1, max(start, at - _LONGEST_VERB) - 1, -1):
        for last in range(min(at, first + _LONGEST_STEM), first, -1):
            if action := state.lang.nouns.get("".join(state.words[first:last])):
                return action
    return ""


def answer(state: Scan, at: int, end: int) -> int:
    """As in "the answer is no": whatever follows is what was asked for."""
    if end == len(state.words) or state.events or state.conditional:
        return end
    state.add(Event(at, clause_start(state, at), Outcome.SUCCESS, mode="state"))
    return len(state.words)


def is_trouble(state: Scan, word: str) -> bool:
    """Whether a word names trouble, so that to be without it is good."""
    return state.has("trouble", word) or state.has("trouble_nouns", word)
