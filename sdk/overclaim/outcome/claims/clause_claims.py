"""The events of a sentence -> claims: each with its part of the text, its action, objects, identifiers and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from overclaim.outcome.claims.asides import claims_no_call, openly_pending, own_clause, takes_up, without_bare_checks
from overclaim.outcome.claims.clause_nouns import kind_of_deed, objects, singular
from overclaim.outcome.claims.language import Language
from overclaim.outcome.claims.quantities import quantity
from overclaim.outcome.claims.scan import HABIT, PUNCTUATION, WAITS, Event, Scan, chain_before
from overclaim.outcome.claims.shortfalls import all_of, joined, part_of_whole
from overclaim.outcome.claims.weights import is_look, mends, starts, weighed
from overclaim.outcome.mentions import identifiers, numbers
from overclaim.outcome.model import Claim, Outcome, Quantity

MAX_TARGETS = 32
_BESIDE = 3  # words, or signs, between a verb and "failed" that belongs to it
_TEXT = 500  # characters kept of a clause
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_TELLING = re.compile(r"[\d@/_\"“«„‘`']|\.\w")  # every identifier holds one of these
_DIGIT = re.compile(r"\d")
_CODED = re.compile(r"[A-Za-z_@]|\d[-/:]\d")


@dataclass(slots=True)
class Said:
    """One claim with what the roll-up needs to know.

    soft: how things stand, weaker than a deed that failed. state: it says so of a thing, not of the agent. retried:
    told of an attempt that was repeated. incident: something went wrong on the way. asked: said in a text that asks
    how to go on. open: an unticked box. look: a deed that only says that something was looked at or run. finding:
    what such a look found, and badly. mends: a deed that sets right what was found. undoes: it takes back what was
    tried. links: it goes on about what was told before. well: all is well in the end. waits: only that something is
    pending. first: of a first try. last: what came of it in the end. kind: the action, where only its start is told
    the one started.
    """

    claim: Claim
    soft: bool = False
    retried: bool = False
    incident: bool = False
    asked: bool = False
    open: bool = False
    look: bool = False
    finding: bool = False
    mends: bool = False
    undoes: bool = False
    waits: bool = False
    kind: str = ""
    state: bool = False
    links: bool = False
    well: bool = False
    first: bool = False
    last: bool = False


def claims_of(state: Scan, starts: list[int], turn: int, *, proposal: bool) -> list[Said]:
    """The claims of a sentence. starts: where each word begins. proposal: the text asks whether to do these things."""
    events = [event for event in _merged(state) if not (proposal and event.mode in ("terse", "headline"))]
    if len(events) > 1:
        events = weighed(state, without_bare_checks(state, events))
    else:
        events = [event for event in events if event.mode != HABIT]
    cuts = [*(_cut(state, events, at) for at in range(len(events))), len(state.words)]
    return [_said(state, event, cuts[at], cuts[at + 1], starts, turn) for at, event in enumerate(events)]


def ticked(found: list[Said], state: Scan, turn: int, *, proposal: bool) -> list[Said]:
    """The claims of a ticked item: the tick says how the deed went, also where the item only names it ("❌ Tests").

    An open box is a deed not done yet; where nothing is ticked off, the list is a plan and its reader drops it.
    """
    mark = state.sentence.mark
    if not found and not proposal and (mark == "failed" or _names_deed(state)):
        text = state.sentence.text.strip()[:_TEXT]
        action = "" if mark == "done" else _first_action(state)
        found = [Said(Claim(_TICKS[mark], action, targets=_targets(text), text=text, turn=turn), kind=action)]
    elif mark != "done":
        for one in found:
            one.claim, one.soft = replace(one.claim, outcome=_TICKS[mark]), False
    return [replace(one, open=mark == "open") for one in found]


_TICKS = {"done": Outcome.SUCCESS, "failed": Outcome.FAILURE, "open": Outcome.PARTIAL}


def _names_deed(state: Scan) -> bool:
    lang, words = state.lang, state.words
    if state.describes or state.hedged or state.modal >= 0 or state.any_of("nobody", words):
        return False
    return any(word in lang.verbs or word in lang.nouns or singular(word) in lang.nouns for word in words)


def _first_action(state: Scan) -> str:
    lang = state.lang
    named = (lang.nouns.get(word) or lang.nouns.get(singular(word)) for word in state.words)
    return next((action for action in named if action), "")


def left_pending(state: Scan, before: Said, found: Said) -> bool:
    """As in "I created the order. It is pending.": the state of the deed told in the sentence before."""
    claim = found.claim
    if (before.claim.outcome, claim.outcome) != (Outcome.SUCCESS, Outcome.PARTIAL) or claim.action or claim.targets:
        return False
    return (
        bool(before.claim.action)
        and not before.look
        and takes_up(state, state.words[: max(state.events[0].at, state.events[0].end)], list(before.claim.objects))
    )


def plain_answer(value: str, turn: int, *, artifact: bool = False) -> Claim:
    """The claim of a bare answer: success, with nothing said about what was done. artifact: it is code or a patch."""
    text = value.strip()[:_TEXT]
    if artifact:
        return Claim(Outcome.SUCCESS, text=text, turn=turn)
    return Claim(Outcome.SUCCESS, targets=_targets(text), amounts=_amounts(text), text=text, turn=turn)


def with_item(said: Said, text: str) -> None:
    """Add the identifiers of a list item to the claim that opened the list."""
    targets = dict.fromkeys((*said.claim.targets, *_targets(text)))
    said.claim = replace(said.claim, targets=tuple(targets)[:MAX_TARGETS])


def _merged(state: Scan) -> list[Event]:
    """Two events of one clause that say the same are one, and a deed that is still under way is partly done."""
    kept: list[Event] = []
    for event in state.events:
        last = kept[-1] if kept and kept[-1].start == event.start else None
        if event.mode == WAITS and kept and is_look(state, kept[-1]):
            continue
        if last and last.outcome is event.outcome and not _apart(state, last, event):
            later = event.action and (not last.action or state.lang.verb_last or _names_test(state, last))
            kept[-1] = event if later else last
        elif last and _refused_deed(state, last, event):
            continue
        elif last and _mended_object(state, last, event):
            kept[-1] = event
        elif last and _failed_beside(state, last, event):
            kept[-1] = replace(last, outcome=Outcome.FAILURE)
        elif (
            last
            and (last.outcome, event.outcome) == (Outcome.SUCCESS, Outcome.PARTIAL)
            and not _of_its_own(state, last, event)
        ):
            last.outcome = Outcome.PARTIAL
        elif not last and kept and openly_pending(state, kept[-1], event):
            kept[-1].outcome = Outcome.PARTIAL
        elif last and (last.outcome, event.outcome) == (Outcome.PARTIAL, Outcome.FAILURE):
            kept[-1] = replace(last, outcome=Outcome.FAILURE)
        else:
            kept.append(event)
    return kept


def _refused_deed(state: Scan, last: Event, event: Event) -> bool:
    """As in "银行拒绝了转账": in scripts without spaces what is refused follows the refusal."""
    near = state.lang.unspaced and last.mode == "finding" and event.at - last.end < _BESIDE
    return near and event.outcome is Outcome.SUCCESS


def _names_test(state: Scan, last: Event) -> bool:
    """As in "测试写完了": what was written is a test."""
    return state.lang.unspaced and last.action == "test"


_MENDS = ("update", "delete", "disable", "cancel")


def _mended_object(state: Scan, last: Event, event: Event) -> bool:
    """As in "导致无法登录的问题已修复": in verb-last languages the trouble is the object of what set it right."""
    if (last.outcome, event.outcome) != (Outcome.FAILURE, Outcome.SUCCESS) or event.action not in _MENDS:
        return False
    return state.any_of("linking", state.words[last.at + 1 : event.at])


def _of_its_own(state: Scan, one: Event, other: Event) -> bool:
    """As in "the booking is cancelled and a refund is under way": two things."""
    between = state.words[one.at + 1 : other.at]
    joined = next((at for at, word in enumerate(between) if state.has("join", word)), -1)
    return not state.lang.clause_reach and any(
        state.has("determiners", word) for word in between[joined + 1 :][:1] if joined >= 0
    )


def _failed_beside(state: Scan, last: Event, event: Event) -> bool:
    """As in "上传失败": in languages of clause reach the verb and its failure stand side by side."""
    if not state.lang.clause_reach or event.at - last.at > _BESIDE or event.action or event.soft:
        return False
    return {last.outcome, event.outcome} == {Outcome.SUCCESS, Outcome.FAILURE}


def _apart(state: Scan, one: Event, other: Event) -> bool:
    between = state.words[one.at + 1 : other.at]
    joins = [at for at, word in enumerate(between) if state.has("join", word) or word in PUNCTUATION]
    if not joins:
        return False
    if _of_tests(state, one, other, between[joins[-1] + 1 :]):
        return True
    if _of_tests(state, other, one, state.words[one.start : one.at]):
        return True
    return bool(one.action and other.action)


def _of_tests(state: Scan, deed: Event, told: Event, subject: list[str]) -> bool:
    """As in "I rewrote the parser and all tests pass": a deed, and what the tests say."""
    if not deed.action or deed.action in _TRIES or told.action or told.mode or state.lang.clause_reach:
        return False
    return state.any_of("tests", subject)


_TRIES = ("test", "verify", "run", "read", "search", "compute")


def _cut(state: Scan, events: list[Event], at: int) -> int:
    """Where the clause of an event begins: at its own start, or at the "and" that joins it to the one before."""
    if at == 0:
        return 0
    event, before = events[at], events[at - 1].at + 1
    if event.start >= before:
        return event.start
    joins = [i for i in range(before, event.at) if state.has("join", state.words[i]) or state.words[i] in PUNCTUATION]
    return joins[-1] + 1 if joins else before


def _said(state: Scan, event: Event, start: int, end: int, starts: list[int], turn: int) -> Said:
    start, end = own_clause(state, event, start, end)
    lang, words = state.lang, state.words[start:end]
    last = _without_joins(state, start, end)
    stop = starts[last] if last < len(starts) else None
    text = state.sentence.text[starts[start] if start else 0 : stop].strip(" ,;-")
    digits = bool(_DIGIT.search(text))
    plain = _plain_words(text) if digits else text
    counted = digits or not lang.measures.isdisjoint(words) or lang.unspaced
    amount = _quantity(lang.words_of(plain), lang) if counted else None
    kind = kind_of_deed(event, words, lang)
    claim = Claim(
        _outcome(state, event, amount),
        _action(event, words, lang, kind),
        objects(words, start, event, lang),
        _targets(text),
        numbers(plain) if digits else (),
        amount,
        text=text[:_TEXT],
        turn=turn,
        own=_is_own(state, event),
    )
    first = bool(state.firsts) and any(start <= at < end for at in state.firsts)
    retried = first or _retried(words, lang)
    incident = event.mode == "incident"
    said = Said(
        _generic(claim, event, lang), event.soft, retried, incident, finding=event.mode == "finding" or incident
    )
    said.kind, said.first = kind, first
    said.last = bool(state.lasts) and any(start - 1 <= at < end for at in state.lasts)
    if claims_no_call(state, event, end, starts):
        said.claim, said.kind = replace(claim, action="", generic=False, in_words=True), ""
    said.waits = event.mode == WAITS
    said.links = state.any_of("back_to", words)
    said.well = event.outcome is Outcome.SUCCESS and (
        (not event.action and event.mode in ("", "state")) or state.any_of("well", words)
    )
    told = state.words[event.at : event.at + 2]
    said.state = event.soft and (told == ["there", "was"] or state.any_of("sold", told))
    said.undoes = event.outcome is Outcome.SUCCESS and (
        event.verb in lang.sets.get("undoing", ()) or _as_before(state, event, words)
    )
    said.look, said.mends = is_look(state, event), mends(state, event, words)
    return said


def _as_before(state: Scan, event: Event, words: list[str]) -> bool:
    """As in "I left the order as it is", "you are on the old plan": nothing was changed in the end."""
    if event.mode == "state":
        return state.any_of("of_before", words)
    return event.verb == "leave" and state.any_of("unchanged", state.words[event.at + 1 : event.at + _FAR])


_FAR = 7  # words from "left" to "as it is"


def _is_own(state: Scan, event: Event) -> bool:
    """Whether a deed is told of the agent: "I sent it", "Sent."; "it was sent", "wurde gesendet" name nobody."""
    if not state.lang.clause_reach or event.outcome is not Outcome.SUCCESS:
        return event.mode != "passive"
    verb = state.lang.verbs.get(event.verb) if event.mode == "" else None
    if verb is None or state.lang.unspaced or (verb.alone and verb.done):
        return True
    chain = chain_before(state, event.at)
    told = state.words[chain.first : event.at + 1]
    return not state.any_of("be", chain.words) or state.any_of("self", told)


def _quantity(words: list[str], lang: Language) -> Quantity | None:
    words = joined(words, lang)
    return part_of_whole(words, lang) or (lang.clause_reach and all_of(words, lang)) or quantity(words, lang)


def _retried(words: list[str], lang: Language) -> bool:
    """Whether a clause tells of an attempt that was repeated."""
    again = lang.sets["recovery"]
    return any(word in "".join(words) for word in again) if lang.unspaced else not again.isdisjoint(words)


def _without_joins(state: Scan, start: int, end: int) -> int:
    """The end of a clause without the "and" or "but" that leads on to the next."""
    while end > start + 1 and (
        state.has("join", state.words[end - 1]) or state.has("boundaries", state.words[end - 1])
    ):
        end -= 1
    return end


def _outcome(state: Scan, event: Event, amount: Quantity | None) -> Outcome:
    short = amount is not None and amount.count is not None and amount.total is not None and amount.count < amount.total
    some = state.partial and event.mode in ("finding", "incident", "")  # "half of the files are broken"
    partly = some if event.outcome is Outcome.FAILURE else state.partial or short or _left_some_out(state, event)
    return Outcome.PARTIAL if partly else event.outcome


def _left_some_out(state: Scan, event: Event) -> bool:
    """As in "Loaded 90 rows and skipped 5 broken ones"; duplicates and what is there already need no loading."""
    after = state.words[event.at + 1 :]
    if event.action in _TRIES or not state.any_of("left_out", after):
        return False
    out = next(at for at, word in enumerate(after) if state.has("left_out", word))
    count = (*after[out + 1 :], "")[0]
    counted = (count.isdecimal() and count != "0") or count in state.lang.counts
    return counted and not state.any_of("no_need", after[out + 1 :])


def _targets(text: str) -> tuple[str, ...]:
    """Identifiers; an apostrophe inside a word opens no quotation."""
    if not _TELLING.search(text):
        return ()
    return identifiers(_APOSTROPHE.sub("", text) if "'" in text or "’" in text else text)


def _amounts(text: str) -> tuple[str, ...]:
    return numbers(_plain_words(text)) if _DIGIT.search(text) else ()


def _plain_words(text: str) -> str:
    """The text without words that hold letters and digits, dates and times: their digits count nothing."""
    return " ".join(word for word in text.split() if not _counts_nothing(word))


@lru_cache(8_192)
def _counts_nothing(word: str) -> bool:
    return bool(_DIGIT.search(word) and _CODED.search(word))


def _action(event: Event, words: list[str], lang: Language, kind: str) -> str:
    return "start" if event.outcome is Outcome.SUCCESS and starts(event, words, lang) else kind


def _generic(claim: Claim, event: Event, lang: Language) -> Claim:
    """As in "done", "it works", "all tasks completed" name nothing: such a claim is about whatever the run did."""
    named = any(word not in lang.sets.get("plain_objects", ()) for word in claim.objects)
    light = claim.action in ("", "run") or (event.verb in lang.sets["light"] and claim.action == event.action)
    if named or claim.targets or not light:
        return claim
    return replace(claim, action="", objects=(), generic=True)
