"""A language as the claim reader sees it: verb forms, phrases and small words, compiled from lexicons/*.toml.

The lexicons are data; this module only turns them into tables that are looked up word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from overclaim.outcome.claims.conjugation import forms as conjugated
from overclaim.outcome.claims.conjugation import preterites
from overclaim.outcome.claims.morphology import british, pasts
from overclaim.outcome.lexicon import table, verbs

LANGUAGES = ("en", "es", "de", "fr", "pt", "ja", "zh", "hi")
# Kana and Han are read character by character, all other scripts word by word; Indic vowel signs belong to the word.
_PUNCTUATION = r"[,;:()—–，、；：（）]"
_WORD = r"[\w\u0900-\u0963\u0966-\u097f]+"
_SPACED = re.compile(rf"\d+(?:[.,:]\d+)+|{_WORD}(?:['’]\w+)?|{_PUNCTUATION}")
_HYPHENED = re.compile(rf"\d+(?:[.,:]\d+)+|{_WORD}(?:-{_WORD})*(?:['’]\w+)?|{_PUNCTUATION}")
_ASCII_SPACED = re.compile(r"\d+(?:[.,:]\d+)+|[A-Za-z0-9_]+(?:'[A-Za-z0-9_]+)?|[,;:()]", re.A)
_ASCII_HYPHENED = re.compile(r"\d+(?:[.,:]\d+)+|[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*(?:'[A-Za-z0-9_]+)?|[,;:()]", re.A)
_UNSPACED = re.compile(rf"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff]|\d+(?:[.,:]\d+)*|[A-Za-z_]+|{_PUNCTUATION}")
PUNCTUATION = frozenset(",;:()—–，、；：（）")
_NO_NOUNS = (
    "stopwords",
    "determiners",
    "prepositions",
    "boundaries",
    "join",
    "self",
    "you",
    "everything",
    "units",
    "long_ago",
)
Phrase = tuple[list[str], str]


@dataclass(frozen=True, slots=True)
class Verb:
    """One form of a verb: its base and canonical action; done: past or participle; base: also the bare form."""

    base: str
    action: str
    done: bool = False
    bare: bool = False
    alone: bool = False


class Telling(dict[str, frozenset[str] | None]):
    """What each word is worth by itself: None for nothing, an empty set for a look, else the words to look for next.

    It fills as texts are read, up to a bound.
    """

    def __init__(self, watched: frozenset[str], openers: Mapping[str, frozenset[str]]) -> None:
        super().__init__()
        self._watched, self._openers = watched, openers

    def __missing__(self, word: str) -> frozenset[str] | None:
        seconds = self._openers.get(word)
        if word in self._watched or word[-2:] == "ed" or word[-3:] == "ble" or word.isdecimal():
            seconds = _NOTHING
        if len(self) < _KEPT:
            self[word] = seconds
        return seconds


_NOTHING = frozenset[str]()
_KEPT = 50_000  # words


@dataclass(frozen=True, slots=True)
class Language:
    """The tables of one language.

    clause_reach: auxiliaries may stand anywhere in the clause. phrases: by first and second word ("" for none).
    heads: words of contrast and auxiliaries. firsts: the first words of the phrases of each kind;
    pairs: with their second words ("" for none). watched: every word
    that can make something of a sentence. openers: words that do so only before certain others. verb_last: of two
    verbs of a clause the later is the deed. negation_first: a negation stands before its verb. parted: what a verb and
    the particle at the end of its clause say. telling: words of bad findings. stops: what ends a clause. measures:
    words of quantity. participle: the shape of a participle of whatever verb. parting: verbs that a later particle
    changes. apart: words taken apart so far. tells: what each word is worth by itself.
    """

    code: str
    clause_reach: bool
    unspaced: bool
    verbs: Mapping[str, Verb]
    phrases: Mapping[str, Mapping[str, tuple[Phrase, ...]]]
    sets: Mapping[str, frozenset[str]]
    counts: Mapping[str, int]
    nouns: Mapping[str, str]
    verb_last: bool
    negation_first: bool
    separable: Mapping[tuple[str, str], str]
    parted: Mapping[str, Mapping[str, str]]
    contractions: Mapping[str, tuple[str, ...]]
    endings: Mapping[str, str]
    beginnings: Mapping[str, str]
    chain: frozenset[str] = field(default_factory=frozenset[str])
    firsts: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    pairs: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict[str, Mapping[str, frozenset[str]]])
    heads: frozenset[str] = field(default_factory=frozenset[str])
    watched: frozenset[str] = field(default_factory=frozenset[str])
    openers: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    telling: frozenset[str] = field(default_factory=frozenset[str])
    stops: frozenset[str] = field(default_factory=frozenset[str])
    no_nouns: frozenset[str] = field(default_factory=frozenset[str])
    measures: frozenset[str] = field(default_factory=frozenset[str])
    participle: re.Pattern[str] | None = None
    parting: frozenset[str] = field(default_factory=frozenset[str])
    apart: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    tells: Telling = field(default_factory=lambda: Telling(frozenset(), {}))

    def tokens(self, text: str) -> tuple[list[str], list[int]]:
        """The words of a text in lower case, contractions taken apart, and where each starts."""
        pattern, lower = self._pattern(text), text.lower()
        matches = list(pattern.finditer(lower if len(lower) == len(text) else text))
        words, starts = [match.group() for match in matches], [match.start() for match in matches]
        if "'" in text or "’" in text or not self.contractions.keys().isdisjoint(words):
            return self._taken_apart(words, starts)
        return words, starts

    def starts_of(self, text: str, words: list[str]) -> list[int]:
        """Where each word of a text starts. words: what words_of gives of it."""
        lower = text.lower()
        matches = self._pattern(text).finditer(lower if len(lower) == len(text) else text)
        starts = [match.start() for match in matches]
        return starts if len(starts) == len(words) else self.tokens(text)[1]

    def words_of(self, text: str) -> list[str]:
        """The words alone, as tokens gives them."""
        pattern, lower = self._pattern(text), text.lower()
        words: list[str] = pattern.findall(lower if len(lower) == len(text) else text)
        if "'" in text or "’" in text or not self.contractions.keys().isdisjoint(words):
            return self._taken_apart(words, [0] * len(words))[0]
        return words

    def _pattern(self, text: str) -> re.Pattern[str]:
        """What a word is; plain letters are told apart faster."""
        if self.unspaced:
            return _UNSPACED
        if text.isascii():
            return _ASCII_HYPHENED if self.clause_reach else _ASCII_SPACED
        return _HYPHENED if self.clause_reach else _SPACED

    def _taken_apart(self, joined: list[str], places: list[int]) -> tuple[list[str], list[int]]:
        words: list[str] = []
        starts: list[int] = []
        for word, start in zip(joined, places, strict=True):
            if "'" in word or "’" in word or word in self.contractions:
                parts = self.apart.get(word)
                if parts is None:
                    parts = self._apart(word.replace("’", "'"))
                    if len(self.apart) < _KEPT:
                        self.apart[word] = parts
                words.extend(parts)
                starts.extend([start] * len(parts))
            else:
                words.append(word)
                starts.append(start)
        return words, starts

    def phrases_at(self, words: list[str], at: int) -> list[tuple[int, str]]:
        """The phrases that start at a word, longest first: the index after each, and its kind."""
        group = self.phrases.get(words[at])
        if group is None:
            return []
        found: list[tuple[int, str]] = []
        after = at + 1
        for rest, kind in group.get(words[after], ()) if after < len(words) else ():
            end = after + len(rest)
            if words[after:end] == rest:
                found.append((end, kind))
        if "" in group:
            found += [(after, kind) for _, kind in group[""]]
        return found

    def _apart(self, word: str) -> tuple[str, ...]:
        if word in self.contractions:
            return self.contractions[word]
        for ending, full in self.endings.items():
            if word.endswith(ending) and word != ending:
                return (word[: -len(ending)], full)
        head, _, rest = word.partition("'")
        return (self.beginnings[head], rest) if head in self.beginnings else (word,)


@cache
def language(code: str) -> Language:
    """The language of a code of LANGUAGES."""
    raw = table(code)
    words = {name: frozenset(values) for name, values in raw.get("words", {}).items()}
    words["stopwords"] = frozenset(raw["stopwords"])
    words["abbreviations"] = frozenset(raw.get("abbreviations", ()))
    for name in (
        "not_past",
        "refused",
        "light",
        "recovery",
        "dates",
        "other",
        "http",
        "ended",
        "starting",
        "looking",
        "mending",
    ):
        words[name] = frozenset(w for part in raw.get(name, {}).values() for w in part)
    bare = Language(
        code=code,
        clause_reach=raw["reach"] == "clause",
        unspaced=raw["script"] in ("kana", "han"),
        verbs=_english_verbs(raw) if "irregular" in raw else _listed_verbs(raw),
        phrases={},
        sets=words,
        counts=raw.get("counts", {}),
        nouns=_stems(raw) if raw["script"] == "kana" else raw.get("nouns", {}),
        verb_last=bool(raw.get("verb_last")),
        negation_first=bool(raw.get("negation_first")),
        parted=_parted(raw.get("parted", {})),
        separable={(k.split()[0], k.split()[1]): v for k, v in raw.get("separable", {}).items()},
        parting=frozenset(pair.split()[0] for pair in raw.get("separable", {})),
        contractions={k: tuple(v.split()) for k, v in raw.get("contractions", {}).items()},
        endings=raw.get("endings", {}),
        beginnings=raw.get("beginnings", {}),
        chain=union(words, _CHAIN),
        telling=union(words, _TELLING) | {"no", "out"},
        stops=PUNCTUATION | words.get("boundaries", frozenset()),
        no_nouns=union(words, (*_CHAIN, *_NO_NOUNS)),
        participle=re.compile(raw["participle"]) if "participle" in raw else None,
        measures=words.get("everything", frozenset[str]()) | raw.get("counts", {}).keys(),
    )
    return _with_phrases(bare, raw)


_CHAIN = (
    "negation",
    "be",
    "have",
    "past_perfect",
    "progress",
    "future",
    "maybe",
    "adverbs",
    "looks",
    "seems",
    "settled",
)


_TELLING = ("keeps", "trouble_nouns", "bad_states", "fail_verbs")
_WATCHED = ("refused", "contrast", "unable", "managed", "modal", "from_now", *_TELLING)


def union(words: Mapping[str, frozenset[str]], parts: Iterable[str]) -> frozenset[str]:
    """All words of some parts of a lexicon."""
    return frozenset[str]().union(*(words.get(part, frozenset[str]()) for part in parts))


def _with_phrases(bare: Language, raw: Mapping[str, Mapping[str, list[str]]]) -> Language:
    """Phrases by their first and second word, longest first, so that "not only" is seen before "not"."""
    found: dict[str, list[Phrase]] = {}
    for kind, phrases in raw["phrases"].items():
        for phrase in phrases:
            first, *rest = bare.tokens(phrase)[0]
            found.setdefault(first, []).append((rest, kind))
    ordered = {first: _by_second(group) for first, group in found.items()}
    pairs: dict[str, dict[str, frozenset[str]]] = {}
    for first, group in found.items():
        for rest, kind in group:
            seconds = pairs.setdefault(kind, {})
            seconds[first] = seconds.get(first, frozenset[str]()) | {rest[0] if rest else ""}
    done = {form for form, verb in bare.verbs.items() if verb.done}
    denying = union(bare.sets, ("negation",)) if bare.clause_reach else frozenset({"not", "no"})
    lone = {first for first, group in ordered.items() if "" in group}
    watched = frozenset({*lone, *done, *union(bare.sets, _WATCHED), *denying})
    openers = {first: frozenset(group) for first, group in ordered.items() if first not in watched}
    kinds = {kind: frozenset(seconds) for kind, seconds in pairs.items()}
    heads = bare.chain | union(bare.sets, ("contrast",))
    tells = Telling(watched, openers)
    return replace(
        bare, heads=heads, phrases=ordered, firsts=kinds, watched=watched, openers=openers, tells=tells, pairs=pairs
    )


def _by_second(group: list[Phrase]) -> dict[str, tuple[Phrase, ...]]:
    found: dict[str, list[Phrase]] = {}
    for phrase in sorted(group, key=lambda one: -len(one[0])):
        found.setdefault(phrase[0][0] if phrase[0] else "", []).append(phrase)
    return {second: tuple(phrases) for second, phrases in found.items()}


def _english_verbs(raw: Mapping[str, Mapping[str, list[str]]]) -> dict[str, Verb]:
    """Every form of every known verb; a base with a particle goes by its first word."""
    irregular, doubling = raw["irregular"], frozenset(raw["doubling"]["verbs"])
    extra: Mapping[str, str] = raw["extra_verbs"]  # type: ignore[assignment]
    parted = {pair.split()[0]: "" for pair in raw["separable"]}
    known = parted | {base: action.name for base, action in verbs().items() if "_" not in base} | dict(extra)
    found: dict[str, Verb] = {base: Verb(base, action, bare=True) for base, action in known.items()}
    for base, action in known.items():
        for form in pasts(base, irregular, doubling):
            found.setdefault(british(form), Verb(base, action, done=True))
            found[form] = Verb(base, action, done=True, bare=form == base)
    return found


def _listed_verbs(raw: Mapping[str, Mapping[str, list[str]]]) -> dict[str, Verb]:
    """Forms as the lexicon lists them: "alone" says done by itself, a participle needs its auxiliary."""
    found: dict[str, Verb] = dict(_conjugated(raw))
    endings = raw.get("participle_endings", {}).get("endings", [""])
    for action, stems in raw.get("participles", {}).items():
        for form in (stem + ending for stem in stems for ending in endings):
            found[form] = Verb(form, action, done=True)
            if "preterite_endings" in raw["words"]:
                found.update({past: Verb(form, action, alone=True) for past in preterites(form) if past not in found})
    for action, forms in raw.get("forms", {}).items():
        found.update({form: Verb(form, action, done=True) for form in forms})
    alone = raw.get("alone_endings", {}).get("endings", [""])
    for action, forms in raw.get("alone", {}).items():
        for form in (stem + ending for stem in forms for ending in alone):
            found[form] = Verb(form, action, done=True, alone=True)
    return found


def _parted(raw: Mapping[str, list[str]]) -> dict[str, dict[str, str]]:
    """What a verb and the particle at the end of its clause say, by both."""
    found: dict[str, dict[str, str]] = {}
    for outcome, pairs in raw.items():
        for verb, particle in map(str.split, pairs):
            found.setdefault(verb, {})[particle] = outcome
    return found


def _stems(raw: Mapping[str, Mapping[str, list[str]]]) -> dict[str, str]:
    """The action of every stem, for endings that stand apart from it."""
    return {stem: action for action, stems in raw["alone"].items() for stem in stems}


def _conjugated(raw: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Verb]]:
    """The forms of the infinitives that a lexicon lists; the first person says done by itself."""
    endings, irregular = raw.get("conjugation", {}), raw.get("irregular_verbs", {})
    for action, listed in raw.get("infinitives", {}).items():
        for base in listed:
            yield base, Verb(base, action, bare=True)
            for form, kind in conjugated(base, endings, irregular):
                yield form, Verb(base, action, done=True, alone=kind == "first")
