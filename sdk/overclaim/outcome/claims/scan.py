"""The state of reading one sentence word by word, and what stands around a word: auxiliaries, subject, clause."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from overclaim.outcome.claims.clauses import Sentence
from overclaim.outcome.claims.language import PUNCTUATION, Language, Verb
from overclaim.outcome.model import Outcome

_CUTS = frozenset(";:—–；：")
_LOOK_BACK = 8
_NEAR = 5  # words
_LONGEST_CLAUSE = 120  # words, or signs of a script without spaces; what is longer is no clause
_LONGEST_CHAIN = 16
SILENT = ("future", "other", "rule", "state")  # modes of verbs that claim nothing, and of what is joined to them
CLEAN = "clean"  # mode of what only says that there is no trouble
WAITS = "waits"  # mode of what only says that something is pending
HABIT = "habit"  # mode of what may say only how things are in general
MAX_EVENTS = 128  # of one sentence


@dataclass(slots=True)
class Event:
    """Something said: where (word), how it went, which action; soft: a state of the world, weaker than a deed."""

    at: int
    start: int
    outcome: Outcome
    verb: str = ""
    action: str = ""
    soft: bool = False
    mode: str = ""
    end: int = 0


@dataclass(slots=True)
class Chain:
    """The auxiliaries and adverbs right before a verb, and the word before them."""

    words: set[str]
    first: int
    subject: str


def _no_events() -> list[Event]:
    return []


def _no_places() -> list[int]:
    return []


def _no_words() -> set[int]:
    return set()


def _no_chains() -> dict[int, Chain]:
    return {}


@dataclass(slots=True)
class Scan:
    """The state of reading one sentence."""

    lang: Language
    words: list[str]
    sentence: Sentence
    events: list[Event] = field(default_factory=_no_events)
    skip: int = 0
    doubted: bool = False
    hedged: bool = False
    describes: bool = False  # tells somebody else's or an older deed
    stated: bool = False  # tells how something stands
    conditional: bool = False  # opens with a condition
    hypothesis: bool = False  # opens with an "if"
    modal: int = -1  # index of the last "will", "would", "can", ...
    partial: bool = False
    spoken: set[int] = field(default_factory=_no_words)  # words of phrases that deny only trouble
    firsts: list[int] = field(default_factory=_no_places)  # where a first try is told
    lasts: list[int] = field(default_factory=_no_places)  # where it is told what came of it in the end
    chains: dict[int, Chain] = field(default_factory=_no_chains)  # those read so far, by the word after them
    mode: str = ""  # how the last verb was read, for verbs joined to it by "and"

    def has(self, part: str, word: str) -> bool:
        """Whether the lexicon lists a word in that part."""
        return word in self.lang.sets.get(part, ())

    def any_of(self, part: str, words: Iterable[str]) -> bool:
        """Whether the lexicon lists one of the words in that part."""
        listed = self.lang.sets.get(part)
        return listed is not None and not listed.isdisjoint(words)

    def stop(self, at: int) -> bool:
        """Whether the word at an index ends a clause."""
        return at < 0 or at >= len(self.words) or self.words[at] in self.lang.stops

    def of_old(self, at: int) -> bool:
        """Whether a day before this run is named close to the word at an index."""
        old = self.lang.sets.get("old_days")
        return old is not None and not old.isdisjoint(self.words[max(0, at - _NEAR) : at + _NEAR])

    def add(self, event: Event) -> None:
        """Keep an event; a doubted success is a failure."""
        if event.outcome is Outcome.FAILURE and event.mode in ("finding", "") and self.of_old(event.at):
            return
        if len(self.events) == MAX_EVENTS or (self.hedged and event.outcome is not Outcome.FAILURE):
            return
        if self.doubted and event.outcome is Outcome.SUCCESS:
            event.outcome = Outcome.FAILURE
        self.events.append(event)


def until(state: Scan, at: int, stops: Callable[[int], bool]) -> int:
    """The next index at which a condition holds, or the end of the sentence."""
    while at < len(state.words) and not stops(at):
        at += 1
    return at


def chain_before(state: Scan, at: int) -> Chain:
    """The auxiliaries and adverbs before a word; in languages of clause reach, those of its whole clause."""
    found = state.chains.get(at)
    if found is None:
        found = state.chains[at] = _chain_before(state, at)
    return found


def _chain_before(state: Scan, at: int) -> Chain:
    if state.lang.clause_reach:
        last = at + _LONGEST_CLAUSE
        start, end = clause_start(state, at), until(state, at, lambda i: i == last or state.stop(i))
        inside = {word for word in state.words[start:end] if word in state.lang.chain}
        return Chain(inside, start, "")
    words: set[str] = set()
    i = at - 1
    while i >= 0 and at - i <= _LONGEST_CHAIN and (state.words[i] in state.lang.chain or is_adverb(state.words[i])):
        words.add(state.words[i])
        i -= 1
    return Chain(words, i + 1, state.words[i] if i >= 0 else "")


def is_adverb(word: str) -> bool:
    """Whether a word is an adverb by its ending."""
    return word.endswith("ly") and len(word) > 4


def is_modal(state: Scan, at: int) -> bool:
    """Whether the word at an index is "will", "would", "can", ...; "May 23" is a date."""
    word, after = state.words[at], state.words[at + 1 : at + 2]
    dated = state.has("dates", word) and bool(after) and after[0][0].isdigit()
    return state.has("modal", word) and not dated


def ahead(state: Scan, at: int) -> bool:
    """Whether a future or modal verb governs a form without auxiliary: "I will check it and complete the order".

    It reaches over its whole clause, infinitives and relative clauses included, up to a boundary.
    """
    if state.modal < 0 or state.modal >= at:
        return False
    between = state.words[state.modal : at]
    if len(between) > _LONGEST_CLAUSE:
        return False
    return not any(word in _CUTS or (state.has("boundaries", word) and word != "which") for word in between)


def clause_start(state: Scan, at: int) -> int:
    """The index of the first word of the clause that holds an index."""
    words, stops = state.words, state.lang.stops
    first = max(0, at - _LONGEST_CLAUSE)
    while first < at <= len(words) and words[at - 1] not in stops:
        at -= 1
    return at


def clause_end(state: Scan, at: int) -> int:
    """The index after the last word of the clause that holds an index; a clause has a longest length."""
    words, stops = state.words, state.lang.stops
    last = max(at, min(len(words), at + _LONGEST_CLAUSE))
    while at < last and words[at] not in stops:
        at += 1
    return at


def hypothetical(state: Scan, chain: Chain) -> bool:
    """Whether the chain speaks of the future or hedges."""
    words = chain.words
    return bool(words) and (state.any_of("future", words) or state.any_of("maybe", words))


def denied(state: Scan, chain: Chain) -> bool:
    """Whether the chain or its subject denies what follows."""
    return state.any_of("negation", chain.words) or nobody(state, chain) == "deed"


def nobody(state: Scan, chain: Chain) -> str:
    """Whether the subject denies the deed ("no user was created") or only trouble ("no errors were found")."""
    if state.lang.clause_reach or not chain.first or not state.any_of("nobody", state.words[: chain.first]):
        return ""
    start = max(clause_start(state, chain.first), chain.first - _LOOK_BACK)
    subject = state.words[start : chain.first]
    if "and" in subject:
        subject = _last_subject(state, subject)
    if not state.any_of("nobody", subject):
        return ""
    return "trouble" if state.any_of("trouble", subject) else "deed"


def _last_subject(state: Scan, words: list[str]) -> list[str]:
    """As in "nothing was lost and | the export is done": what is joined to a whole clause has its own subject."""
    joined = len(words) - words[::-1].index("and")
    told = any(state.has(part, word) for part in ("be", "have", "fail_verbs") for word in words[: joined - 1])
    return words[joined:] if told and joined < len(words) else words


def next_base(state: Scan, at: int) -> Verb | None:
    """The verb that follows ("unable to | find the file"), over at most three words."""
    for word in state.words[at : at + 4]:
        if word in PUNCTUATION:
            return None
        verb = state.lang.verbs.get(word)
        if verb is not None and verb.base != "be":
            return verb
    return None


def ends_well(state: Scan, end: int) -> bool:
    """Whether what stands at an index lets the verb before it end its clause."""
    return (
        state.lang.clause_reach
        or state.stop(end)
        or state.has("after_verb", state.words[end])
        or state.words[end].endswith("ly")
    )


def failed(state: Scan, at: int, verb: Verb | None, *, soft: bool, end: int = 0) -> Event:
    """The event that a deed was not done. verb: which deed, None where the text names none."""
    base, action = (verb.base, verb.action) if verb else ("", "")
    state.mode = "negative"
    return Event(at, clause_start(state, at), Outcome.FAILURE, base, action, soft=soft, end=end)
