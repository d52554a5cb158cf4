"""One text of an agent -> a turn: its claims, and whether it answers, asks, or is a step on the way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

from overclaim.outcome.claims.clause_claims import Said, claims_of, left_pending, plain_answer, ticked, with_item
from overclaim.outcome.claims.clauses import NAME_START, Sentence, prepare, sentences
from overclaim.outcome.claims.detection import detect
from overclaim.outcome.claims.grammar import scan
from overclaim.outcome.claims.language import Language, language
from overclaim.outcome.claims.quantities import falls_short
from overclaim.outcome.claims.scaffold import Speech
from overclaim.outcome.claims.scan import PUNCTUATION, WAITS, Scan, is_modal
from overclaim.outcome.model import Claim, Outcome

MAX_CLAIMS = 64
_LAST_SENTENCES = 3  # where a text says what comes next
_NAMED = 2  # words of a value that need neither number nor name
_SHORT = 8  # words of an answer that is only a value
_FULL_STOPS = ("?", "!", "？", "。", "！", "।")  # no value ends in one of these
_TALK = ("courtesy", "confirm", "announce")
_DENIED = ("negation", "nobody", "trouble_nouns")
_BAD = (*_DENIED, "bad_states", "fail_verbs")
_SENTENCE_KINDS = ("greeting", *_TALK, "conditional")


@dataclass(slots=True)
class Turn:
    """One text. language: "" where no word tells, "?" where there is no lexicon for it.

    answer: a value given as such. statement: a sentence that states a value, for texts that claim nothing else.
    step: the text carries a call or says what comes next. final: it is marked as the final answer. asks: it asks
    the user how to go on. goes_on: it ends with what comes next. retries: with the next try.
    """

    said: list[Said] = field(default_factory=list[Said])
    language: str = ""
    answer: Claim | None = None
    statement: str = ""
    step: bool = False
    final: bool = False
    asks: bool = False
    goes_on: bool = False
    retries: bool = False


@dataclass(slots=True)
class _Line:
    """A sentence with its words and, where it is asked for, where they start."""

    sentence: Sentence
    words: list[str]
    lang: Language

    @property
    def starts(self) -> list[int]:
        return self.lang.starts_of(self.sentence.masked, self.words)


def turn_of(said: Speech, number: int, *, last: bool = True) -> Turn:
    """Read one text. number: which text of the window it is, from 0. last: it is the last one."""
    if said.control or said.step == "call":
        return Turn(step=True)
    text, masked = prepare(said.prose or said.answer)
    code = detect(masked)
    if code == "?" or (code == "" and len(text.split()) > _SHORT):
        return _unread(said, number)
    lang = language(code or "en")
    lines = [_Line(one, lang.words_of(one.masked), lang) for one in sentences(text, masked, lang.sets["abbreviations"])]
    goes_on = bool(said.step or not last) and _announces(lines, lang)
    if said.step and goes_on:
        return Turn(language=code, step=True)
    asks = any(_has(line.words, lang, "confirm") for line in lines)
    retries = not last and any(_has(line.words, lang, "retry") for line in lines[-1:])
    turn = Turn(language=code, final=bool(said.answer), asks=asks, goes_on=goes_on, retries=retries)
    _read_lines(turn, lines, lang, number)
    if not turn.said and (said.answer or (not turn.asks and _is_value(lines, lang))):
        turn.answer = plain_answer(said.answer or said.prose, number, artifact=said.artifact)
    return turn


def _unread(said: Speech, number: int) -> Turn:
    """A text in a language not read here: only an answer given as such says something."""
    if said.answer:
        return Turn(answer=plain_answer(said.answer, number, artifact=said.artifact), final=True)
    return Turn(language="?")


def _is_value(lines: list[_Line], lang: Language) -> bool:
    """Whether a text is only a value ("146", "Paris"): short, without a verb, a question or a courtesy."""
    words = [word for line in lines for word in line.words if word not in PUNCTUATION]
    if _reports_badly(words, lang, _BAD) or not 0 < len(words) <= _SHORT or any(line.sentence.mark for line in lines):
        return False
    if any(line.sentence.text.rstrip().endswith(_FULL_STOPS) for line in lines):
        return False
    if len(lines) == 1 and _is_headline(lines[0]):
        return False
    if len(words) > _NAMED and lines[-1].sentence.text.rstrip().endswith(".") and not _names(lines):
        return False
    return not any(_is_spoken(word, lang) for word in words)


def _is_headline(line: _Line) -> bool:
    """As in "Payment bounced": it ends in what looks like a past form, written small, and tells no value."""
    words = line.words
    return len(words) > 1 and words[-1][-2:] == "ed" and line.sentence.text.rstrip(" .").endswith(words[-1])


def _names(lines: list[_Line]) -> bool:
    """Whether a number or a proper name stands in it; else it is a sentence in words not known here."""
    text = " ".join(line.sentence.text.strip() for line in lines)
    return any(char.isdigit() or char.isupper() for char in text[1:])


def _is_spoken(word: str, lang: Language) -> bool:
    if word in lang.chain or word in lang.sets["stopwords"]:
        return True
    group = lang.phrases.get(word, {})
    return any(kind in _SENTENCE_KINDS for phrases in group.values() for _, kind in phrases)


def _has(words: list[str], lang: Language, *kinds: str) -> bool:
    for kind in kinds:
        if kind not in lang.pairs or lang.firsts[kind].isdisjoint(words):
            continue
        pairs = lang.pairs[kind]
        for at, word in enumerate(words):
            if word in pairs and _may_go_on(words, at, pairs[word]) and _phrase_at(words, at, lang, (kind,)):
                return True
    return False


def _may_go_on(words: list[str], at: int, seconds: frozenset[str]) -> bool:
    return "" in seconds or (at + 1 < len(words) and words[at + 1] in seconds)


def _waits(words: list[str], lang: Language) -> bool:
    """Whether a sentence holds on a condition; "after comparing both" is none."""
    if lang.firsts.get("conditional", frozenset[str]()).isdisjoint(words):
        return False
    ends = (_phrase_at(words, at, lang, ("conditional",)) for at in range(len(words)))
    return any(end and not (end < len(words) and words[end].endswith("ing")) for end in ends)


def _phrase_at(words: list[str], at: int, lang: Language, kinds: tuple[str, ...]) -> int:
    """The index after a phrase of one of the kinds that starts at a word; 0 for none."""
    for end, kind in lang.phrases_at(words, at) if words[at] in lang.phrases else ():
        if kind in kinds:
            return end
    return 0


def _announces(lines: list[_Line], lang: Language) -> bool:
    """Whether the end of a text says what comes next, other than handing the work in."""
    ahead = False
    for line in lines[-_LAST_SENTENCES:]:
        for at in range(len(line.words)):
            if end := _phrase_at(line.words, at, lang, ("announce",)):
                ahead = not any(word in lang.sets["closers"] for word in line.words[end : end + 4])
            elif _phrase_at(line.words, at, lang, ("generic",)):
                ahead = False
    return ahead


def _read_lines(turn: Turn, lines: list[_Line], lang: Language, number: int) -> None:
    opened: list[Said] = []
    quiet: list[tuple[Scan, _Line]] = []
    for line in lines:
        state = scan(line.sentence, line.words, lang)
        found = _found_in(turn, line, state, number)
        if found or not line.sentence.bullet:
            opened = found if line.sentence.opens_list else []
        elif opened:
            with_item(opened[-1], line.sentence.text)
        if line.words and all(event.mode == WAITS for event in state.events):
            quiet.append((state, line))
        turn.said.extend(found[: MAX_CLAIMS - len(turn.said)])
    turn.said = settled(turn.said)
    if not any(line.sentence.mark == "done" for line in lines):
        turn.said = [one for one in turn.said if not one.open]
    if not any(one.claim.outcome is Outcome.SUCCESS and not one.soft for one in turn.said):
        stated = (state.sentence.text.strip() for state, line in quiet if _states(state, line))
        turn.statement = next(stated, "")


def _found_in(turn: Turn, line: _Line, state: Scan, number: int) -> list[Said]:
    """The claims of one sentence; it may also take back that what the one before tells is done."""
    found = claims_of(state, line.starts, number, proposal=turn.asks) if state.events else []
    if turn.said and found and left_pending(state, turn.said[-1], found[0]):
        turn.said[-1].claim = replace(turn.said[-1].claim, outcome=Outcome.PARTIAL)
        del found[0]
    found = [one for one in found if not one.waits]
    if line.sentence.mark:
        found = ticked(found, state, number, proposal=turn.asks)
    if turn.asks:
        found = [one for one in found if not _not_begun(one, line.words, line.lang)]
    for one in found:
        one.asked = turn.asks
    return found


def _not_begun(one: Said, words: list[str], lang: Language) -> bool:
    """As in "Nothing has been changed yet. Shall I begin?": a plan that waits for an answer."""
    none = one.claim.outcome is Outcome.FAILURE and words[0] in lang.sets.get("nobody", ())
    return none and not lang.sets.get("not_yet", frozenset[str]()).isdisjoint(words)


def settled(said: list[Said]) -> list[Said]:
    """The claims of one text without the looks that found something bad, and without what was set right after."""
    if all(one.claim.outcome is not Outcome.FAILURE for one in said):
        return said
    kept = [one for at, one in enumerate(said) if not _came_to_nothing(one, said[:at], said[at + 1 :])]
    return [one for at, one in enumerate(kept) if not (one.finding and _resolved(one, kept[at + 1 :]))]


def _resolved(one: Said, later: list[Said]) -> bool:
    """Whether what was found is set right later: mended, or taken up by a deed after which all is well."""
    if any(other.mends for other in later):
        return True
    taken, plain = False, one.claim.text.lower().startswith("it ")
    for other in later:
        if other.claim.outcome is not Outcome.SUCCESS:
            return False
        if other.well and (taken or other.links or plain or not one.claim.objects):
            return True
        taken = taken or other.links
    return False


def _came_to_nothing(one: Said, earlier: list[Said], later: list[Said]) -> bool:
    """A look that found something bad, and an undoing of what had failed."""
    told = later if one.look else earlier if one.undoes else []
    return any(other.claim.outcome is Outcome.FAILURE for other in told)


def _states(state: Scan, line: _Line) -> bool:
    """Whether a sentence without events states how something is: an answer, if the text says nothing else."""
    words, lang = state.words, state.lang
    if state.sentence.question or state.describes or state.hedged or _imperative(state) or _asks_of_user(words):
        return False
    if not state.stated and (state.sentence.opens_list or not _gives_value(state, line)):
        return False
    if _reports_badly(words, lang, _DENIED) or (falls_short(words, lang) and not _tells_rest(state)):
        return False
    if any(word in lang.chain and _looks_ahead(state, at) for at, word in enumerate(words)):
        return False
    return not _has(words, lang, *_TALK) and not _waits(words, lang)


def _asks_of_user(words: list[str]) -> bool:
    """As in "Your provider wants you to sign first: ...": what is left for the user to do is no value."""
    return ("you", "to") in pairwise(words)


def _tells_rest(state: Scan) -> bool:
    """As in "There are 3 seats left (9 of 12 taken)"."""
    return state.has("there", state.words[0]) and state.any_of("wanting", state.words[1:])


def _reports_badly(words: list[str], lang: Language, parts: tuple[str, ...]) -> bool:
    """Whether a sentence denies something or names trouble, in whatever construction: it is no answer."""
    return any(not lang.sets[part].isdisjoint(words) for part in parts if part in lang.sets)


def _looks_ahead(state: Scan, at: int) -> bool:
    word = state.words[at]
    return word not in ("can", "to") and (state.has("future", word) or is_modal(state, at))


def _gives_value(state: Scan, line: _Line) -> bool:
    """A number, a quotation or an identifier; or a proper name, as in "The capital is Paris"."""
    words = state.words
    be = next((at for at, word in enumerate(words) if state.has("be", word) or state.has("sums", word)), -1)
    if any(word[0].isdigit() or word.startswith(NAME_START) for word in words):
        return be >= 0 or state.lang.clause_reach or any(word in PUNCTUATION for word in words)
    if state.lang.clause_reach:
        return _says_what_is(state)
    if words[:2] == ["you", "have"]:
        return any(state.sentence.text[start : start + 1].isupper() for start in line.starts[2:])
    if be <= 1 or not state.has("told_of", words[0]):
        return False
    return any(state.sentence.text[start : start + 1].isupper() for start in line.starts[be + 1 :])


def _says_what_is(state: Scan) -> bool:
    """As in "La capital es Canberra", "首都はキャンベラです": something certain is something; "das ist gut" points."""
    words = state.words
    if state.lang.unspaced and "".join(words[-2:]) == "です":
        return not state.has("pointing", words[0])
    copula = next((at for at, word in enumerate(words) if state.has("copula", word)), 0)
    if "articles" in state.lang.sets:
        return copula > 1 and state.has("articles", words[0])
    return copula > 1 and not state.has("pointing", words[0])


def _imperative(state: Scan) -> bool:
    verb = state.lang.verbs.get(state.words[1] if state.words[0] == "to" and len(state.words) > 1 else state.words[0])
    return verb is not None and verb.bare
