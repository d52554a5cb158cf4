"""How the events of a sentence weigh: a look yields to what it found, a mended finding to the mend."""

from __future__ import annotations

from collections.abc import Collection

from overclaim.outcome.claims.language import Language
from overclaim.outcome.claims.scan import CLEAN, HABIT, Event, Scan
from overclaim.outcome.model import Outcome

_NONE = frozenset[str]()
_LOOKS = frozenset({"read", "search", "compute", "verify", "test"})
_NO_WAY_ROUND = frozenset({"", "send", "delegate", "cancel", "disable", "delete", *_LOOKS})


def weighed(state: Scan, events: list[Event]) -> list[Event]:
    """The events that count: looks give way to a failure told after them, soft ones to deeds, mended to the mend."""
    if not any(is_look(state, event) for event in events):
        events = [event for event in events if event.mode != HABIT]
    kept = [event for at, event in enumerate(events) if not _came_to_nothing(state, event, events[at + 1 :])]
    kept = [event for at, event in enumerate(kept) if not _tells_why(state, event, kept[:at])]
    kept = [event for at, event in enumerate(kept) if not _got_round(state, event, kept[at + 1 :], kept[:at])]
    kept = [event for at, event in enumerate(kept) if not (at and _passed_on(state, event, kept[at - 1]))]
    if all(event.soft for event in kept):
        return kept
    for at, event in enumerate(kept):
        against = _set_against(state, event, kept[:at]) or _beside_failure(state, event, kept[at + 1 :])
        event.soft = event.soft and not against
    return [event for event in kept if not event.soft]


def _came_to_nothing(state: Scan, event: Event, later: list[Event]) -> bool:
    """As in "I ran the tests; three fail", "I started the job, but it broke"."""
    failures = [one for one in later if one.outcome is Outcome.FAILURE]
    if not failures or event.outcome is not Outcome.SUCCESS:
        return False
    if failures[0].mode == "finding" and (
        event.verb in state.lang.sets["starting"] or _ends_in(state, event, failures[0])
    ):
        return True
    return is_look(state, event)


def _tells_why(state: Scan, event: Event, earlier: list[Event]) -> bool:
    """As in "I am stuck: the branch is archived": how it stands, told right after a colon as what is in the way."""
    before = earlier[0] if earlier else None
    if before is None or event.outcome is not Outcome.SUCCESS or before.outcome is not Outcome.FAILURE:
        return False
    lead = state.words[before.start : event.start]
    present = state.any_of("present", state.words[event.start : event.at]) and event.mode == "passive"
    mixed = state.any_of("contrast", state.words[event.at :]) or ":" in lead[:-1]
    return present and lead[-1:] == [":"] and state.any_of("self", lead) and not mixed


def _ends_in(state: Scan, event: Event, failure: Event) -> bool:
    """As in "the run finished with exit code 1", "it was booked before we got there": one clause, told by its end."""
    if event.start != failure.start:
        return False
    return state.has("coming_to_an_end", event.verb) or state.has("too_late", state.words[failure.at])


def is_look(state: Scan, event: Event) -> bool:
    """Whether a success only says that something was looked at or run ("I ran the tests", "I sent the request")."""
    if event.outcome is not Outcome.SUCCESS or event.mode in ("state", "able"):
        return False
    if event.mode == CLEAN:
        return True
    if event.verb == "run" and event.mode != "self" and not _of_tests(state, event):
        return False
    if event.action in _LOOKS or event.verb in state.lang.sets["looking"]:
        return True
    return event.action in ("send", "order") and _asks(state, event)


def _of_tests(state: Scan, event: Event) -> bool:
    """As in "the tests ran", which is only a look; "the backup ran" is a deed."""
    before = state.words[event.start : event.at]
    return state.any_of("tests", before) or state.any_of("join", before)


def _asks(state: Scan, event: Event) -> bool:
    """Whether what was sent is a request, a command, a query."""
    near = state.words[max(0, event.at - 8) : event.at + 8]
    if state.lang.unspaced:
        return any(word in "".join(near) for word in state.lang.sets.get("requests", ()))
    return state.any_of("requests", near)


def starts(event: Event, words: Collection[str], lang: Language) -> bool:
    """Whether a deed is only the start of something that goes on by itself: "submitted", "kicked off", "queued"."""
    if event.verb not in lang.sets["starting"]:
        return False
    if event.verb in lang.sets.get("launches", ()):
        return any(word in lang.sets["jobs"] for word in words)
    return event.verb not in lang.sets.get("accepts", ()) or event.mode in ("passive", "received")


def mends(state: Scan, event: Event, words: Collection[str]) -> bool:
    """Whether a deed sets right what was found: "and fixed them", "the error has been corrected"."""
    if event.outcome is not Outcome.SUCCESS:
        return False
    if event.action and not state.lang.sets.get("instead", _NONE).isdisjoint(words):
        return True
    if event.verb not in state.lang.sets["mending"]:
        return False
    sets = state.lang.sets
    return not (sets.get("taken_up", _NONE).isdisjoint(words) and sets.get("trouble_nouns", _NONE).isdisjoint(words))


def _passed_on(state: Scan, event: Event, before: Event) -> bool:
    """As in "I told Ann that the room is taken": what was passed on to somebody."""
    if event.mode != "finding" or before.action != "send" or before.outcome is not Outcome.SUCCESS:
        return False
    between = state.words[before.at + 1 : event.at]
    return before.start == event.start and state.any_of("relative", between)


def _describes_object(state: Scan, event: Event, deed: Event) -> bool:
    """As in "I turned off the alarm, which kept failing"."""
    taken = deed.outcome is Outcome.SUCCESS and deed.action in _SHUTTING
    return taken and state.any_of("describing", state.words[deed.at : event.at])


_MEANS = ("use", "reach", "access", "open")  # "I couldn't use the API, so I uploaded it by hand"
_SHUTTING = ("disable", "delete", "cancel", "update")


def _got_round(state: Scan, event: Event, later: list[Event], earlier: list[Event]) -> bool:
    """As in "the name was taken, so I created bo2" and "found two errors and fixed them"."""
    if earlier and event.outcome is Outcome.FAILURE and _describes_object(state, event, earlier[-1]):
        return True
    if event.outcome is Outcome.FAILURE and (_in_the_end(state, event, later) or _explains(state, event, earlier)):
        return True
    if event.mode != "finding" and event.verb not in _MEANS:
        return False
    if _of_before(state, event) and any(one.outcome is Outcome.SUCCESS for one in later):
        return True
    for one in later:
        if one.outcome is not Outcome.SUCCESS:
            continue
        between = state.words[event.at + 1 : one.at + 8]
        if mends(state, one, between):
            return True
        so = _is_reason(state, event) or any(
            state.has("therefore", word) for word in state.words[event.at + 1 : one.at]
        )
        instead = state.any_of("instead", between)
        if one.mode != "state" and (instead or (so and one.action and one.action not in _NO_WAY_ROUND)):
            return True
    return False


def _in_the_end(state: Scan, event: Event, later: list[Event]) -> bool:
    """As in "a reset at the start, after which all were delivered": what came of the same thing in the end."""
    for one in later:
        if one.outcome is Outcome.SUCCESS and (not (event.action and one.action) or event.action == one.action):
            return any(event.at < at <= one.at + _NEAR for at in state.lasts)
    return False


_NEAR = 8  # words after a deed


def _explains(state: Scan, event: Event, earlier: list[Event]) -> bool:
    """As in "the bug is fixed: the check was missing a rule": why it had to be mended."""
    before = earlier[-1] if earlier else None
    if before is None or event.action or state.lang.clause_reach or before.outcome is not Outcome.SUCCESS:
        return False
    between = state.words[before.at + 1 : event.at]
    own = state.words[before.start : event.start]
    if (
        ":" in between[-_NEAR:]
        and before.action in ("create", "send")
        and state.has("troubles_told", own[-1] if own else "")
    ):
        return True
    well = "again" in own or (mends(state, before, own) and not {":", "("}.isdisjoint(between))
    past = not state.lang.sets["past_be"].isdisjoint(state.words[event.start : event.at + 1])
    return well and past and not _STOPS.isdisjoint(between)


_STOPS = frozenset(":;(—–")


def _of_before(state: Scan, event: Event) -> bool:
    """As in "the job that failed yesterday", "昨天失败的任务": it only tells which one is meant."""
    words = state.words
    if state.lang.unspaced:
        return state.has("linking", words[event.end]) if event.end < len(words) else False
    lead = words[max(0, event.start - 1) : event.at]
    return any(state.has(part, word) for part in ("relative", "describing") for word in lead)


def _is_reason(state: Scan, event: Event) -> bool:
    return state.any_of("since", state.words[max(0, event.start - 1) : event.start + 1])


def _beside_failure(state: Scan, event: Event, later: list[Event]) -> bool:
    """As in "zone 1 is winterized; zone 2 would not open": done for one thing, and not for another."""
    if event.outcome is not Outcome.SUCCESS or not event.verb or state.lang.clause_reach:
        return False
    failed = [one for one in later if one.outcome is Outcome.FAILURE and not one.soft and one.start > event.start]
    subject = state.words[failed[0].start :][:1] if failed else []
    apart = bool(failed) and _leads_apart(state, state.words[failed[0].start - 1])
    return bool(subject) and apart and not state.any_of("taken_up", subject)


def _leads_apart(state: Scan, word: str) -> bool:
    return word in _STOPS or state.has("contrast", word)


def _set_against(state: Scan, event: Event, earlier: list[Event]) -> bool:
    """As in "A is booked, B was not available": how things stand, told beside a deed; "unfortunately" is no more."""
    if event.outcome is not Outcome.FAILURE or state.has("regrets", state.words[event.at]) or state.lang.clause_reach:
        return False
    return any(one.outcome is Outcome.SUCCESS and one.start < event.start for one in earlier)
