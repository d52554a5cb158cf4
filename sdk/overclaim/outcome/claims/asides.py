"""What stands beside a deed and must not be taken for one: records, reasons, bare checks, and what is pending.

"We shipped it last week" reports what a record says. "LH100 was full, so I booked LH200" tells a reason first. "Created
it and verified that it was created" says one thing twice; "created it; it is pending" takes back that it is done.
"""

from __future__ import annotations

from itertools import pairwise

from overclaim.outcome.claims.language import PUNCTUATION
from overclaim.outcome.claims.scan import CLEAN, Event, Scan, chain_before, clause_start, until
from overclaim.outcome.claims.worded import worded
from overclaim.outcome.model import Outcome

_AFTER = 8  # words after a verb within which its time is told
_DATED_DEEDS = ("book", "move")  # their date is the one booked, not the one of the deed
_DEEDS = ("self", "terse", "passive", "")  # modes that tell a deed; a phrase such as "shipped it" has none


def claims_no_call(state: Scan, event: Event, end: int, starts: list[int]) -> bool:
    """Whether the clause of an event up to a word says a deed that no call need show."""
    if state.lang.clause_reach or event.outcome is not Outcome.SUCCESS:
        return False
    if event.mode == CLEAN:
        return event.start < len(state.words) and state.has("there", state.words[event.start])  # "there is no ..."
    if event.mode not in _DEEDS:
        return False
    return worded(state, event, end, starts) or of_a_record(state, event) or _circumstance(state, event)


def of_a_record(state: Scan, event: Event) -> bool:
    """As in "we shipped it last week", "your plan was upgraded in March": what was done before, as a record tells."""
    chain = chain_before(state, event.at)
    ours = event.mode in ("self", "") and state.has("several_selves", chain.subject)
    told = event.mode == "passive" and not chain.words.isdisjoint(state.lang.sets["past_be"])
    if not (ours or told):
        return False
    after = (*_lead(state, chain.first), *_own_words(state, event.at))
    if state.any_of("in_this_run", (*chain.words, *after)):
        return False
    if state.any_of("before_this", (*after, *state.words[chain.first : event.at])):
        return True
    pairs = list(pairwise(after))
    if any(one == "last" and state.has("time_units", other) for one, other in pairs):
        return True
    if event.action in _DATED_DEEDS:
        return False
    return any(one in ("on", "in") and state.has("dates", other) for one, other in pairs)


def _lead(state: Scan, subject: int) -> list[str]:
    """What opens a sentence before its subject: "last month | we ..."."""
    return state.words[: max(0, subject - 1)] if subject <= _AFTER else []


def _own_words(state: Scan, at: int) -> list[str]:
    """The words after a verb up to another subject or the end of its clause."""
    end = until(state, at + 2, lambda i: state.stop(i) or _other_verb(state, state.words[i]))
    return state.words[at + 1 : min(end, at + 1 + _AFTER)]


def _other_verb(state: Scan, word: str) -> bool:
    return any(state.has(part, word) for part in ("you", "self", "relative", "describing", "join"))


def _circumstance(state: Scan, event: Event) -> bool:
    """As in "LH100 was cancelled; therefore I booked LH200": the reason of an own deed, which was found so."""
    if event.mode != "passive" or chain_before(state, event.at).words.isdisjoint(state.lang.sets["past_be"]):
        return False
    for i in range(event.at + 1, len(state.words) - 1):
        if state.has("therefore", state.words[i]):
            return state.has("self", state.words[i + 1])
    return False


def own_clause(state: Scan, event: Event, start: int, end: int) -> tuple[int, int]:
    """The part of a clause that tells a deed, without its reason: "LH100 was sold out, so | I booked LH200"."""
    if state.lang.clause_reach or event.outcome is Outcome.FAILURE or event.mode == "finding":
        return start, end
    begin = start
    for i in range(start, event.at) if state.any_of("therefore", state.words[start : event.at]) else ():
        if state.has("therefore", state.words[i]) and i > start and state.words[i + 1] not in ("that", "far"):
            begin = i + 1
    if begin == start and _opens_reason(state, start):
        commas = [i for i in range(start, event.at) if state.words[i] == ","]
        begin = commas[-1] + 1 if commas else start
    after = state.words[event.at + 1 : end]
    if _TURNING.isdisjoint(after) and not state.any_of("causes", after):
        return begin, end
    return begin, next((i for i in range(event.at + 1, end) if _turns(state, i)), end)


def _opens_reason(state: Scan, at: int) -> bool:
    return at < len(state.words) and (state.has("causes", state.words[at]) or state.has("since", state.words[at]))


_TURNING = frozenset({"instead", "rather", "due"})


def _turns(state: Scan, at: int) -> bool:
    """Whether the word at an index leads on to the reason, or to what was not taken."""
    word = state.words[at]
    if word not in _TURNING:
        return state.has("causes", word)
    return state.words[at : at + 2] in (["instead", "of"], ["rather", "than"], ["due", "to"])


def without_bare_checks(state: Scan, events: list[Event]) -> list[Event]:
    """As in "I created the user and verified that it was created": who says only that again claims nothing more."""
    kept: list[Event] = []
    bare = len(state.words)
    for event in events:
        if event.at > bare and event.start == kept[-1].start and _says_same(state, kept[-1], event):
            continue
        if kept and _is_bare_check(state, kept[-1], event):
            bare = event.at
            continue
        kept.append(event)
    return kept


def _says_same(state: Scan, deed: Event, event: Event) -> bool:
    """As in "deleted it and verified that it is gone"."""
    if event.outcome is Outcome.SUCCESS:
        return event.action in ("", deed.action)
    return deed.action in ("delete", "cancel", "move") and state.has("vanished", state.words[event.at])


def _is_bare_check(state: Scan, deed: Event, event: Event) -> bool:
    checks = event.action == "verify" or event.verb == "confirm"
    own = deed.outcome is Outcome.SUCCESS and deed.action not in ("", "verify", "test", "read", "search", "compute")
    if not (checks and own and event.mode == "self" and event.outcome is Outcome.SUCCESS):
        return False
    if not state.any_of("join", state.words[event.at - 2 : event.at]):
        return False
    rest = state.words[event.at + 1 : until(state, event.at + 1, state.stop)]
    told = state.words[clause_start(state, deed.at) : event.at]
    return (
        rest[:1] in (["that"], ["it"], ["the"])
        and "by" not in rest
        and not any(_new(state, word, told) for word in rest)
    )


def _new(state: Scan, word: str, told: list[str]) -> bool:
    """Whether a word names something that was not told before."""
    if word in told or word in state.lang.no_nouns or word.endswith("ly"):
        return False
    if any(state.has(part, word) for part in ("vanished", "exists", "plain_objects")):
        return False
    verb = state.lang.verbs.get(word)
    return verb is None or not verb.done


def openly_pending(state: Scan, deed: Event, event: Event) -> bool:
    """As in "I created the order; it is pending": the state of that very deed, told in a clause of its own."""
    if (deed.outcome, event.outcome) != (Outcome.SUCCESS, Outcome.PARTIAL) or event.action:
        return False
    subject = state.words[max(event.start - 1, deed.at + 1) : max(event.end, event.at)]
    return takes_up(state, subject, state.words[deed.start : event.start])


def takes_up(state: Scan, subject: list[str], told: list[str]) -> bool:
    """Whether a clause goes on about the same thing: "it", "the status", or a noun told before."""
    lead = [word for word in subject if word not in PUNCTUATION and not _joins(state, word)][:2]
    again = any(word in told and word.isalpha() and word not in state.lang.no_nouns for word in subject)
    return again or "status" in lead or any(state.has("taken_up", word) or word == "they" for word in lead[:1])


def _joins(state: Scan, word: str) -> bool:
    return state.has("join", word) or state.has("contrast", word)
