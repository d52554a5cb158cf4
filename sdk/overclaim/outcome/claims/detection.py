"""Which language a text is in, by its script, its small words and its spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from overclaim.outcome.claims.language import LANGUAGES, Language, language, union
from overclaim.outcome.lexicon import table

_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_DEVANAGARI = re.compile(r"[\u0900-\u097f]")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_LETTER = re.compile(r"[^\W\d_]")
_SAMPLE_WORDS = 200
_ENGLISH_SHARE = 0.34
_LETTERS = re.compile(r"[^\W\d_]+")
_BEYOND_ASCII = re.compile("[^\\W\\d_A-Za-z]")
_ASCII_LETTERS = re.compile("[a-z]+")
_GLANCE = 300  # characters that mostly show that a text is English
_SAMPLE = 1500  # characters that decide the language
_SAID = ("trouble_nouns", "bad_states", "fail_verbs", "managed", "unable", "negation", "be", "have")


@cache
def _vocabulary() -> dict[str, tuple[str, ...]]:
    """Which languages know a word; words of languages without a lexicon count against them all."""
    found: dict[str, set[str]] = {}
    for code in LANGUAGES:
        known = language(code)
        forms = (form for form, verb in known.verbs.items() if verb.done and len(form) > 3)
        told = union(known.sets, _SAID)
        for word in (*known.sets["stopwords"], *forms, *_lone_phrases(known), *told):
            found.setdefault(word, set()).add(code)
    for code, words in table("foreign").items():
        for word in words["stopwords"]:
            found.setdefault(word, set()).add(code)
    return {word: tuple(sorted(codes)) for word, codes in found.items()}


def _lone_phrases(known: Language) -> Iterator[str]:
    return (first for first, group in known.phrases.items() if "" in group)


def detect(text: str) -> str:
    """The code of the language of a text; "" where nothing tells; "?" for a language without a lexicon."""
    sample = text[:_SAMPLE]
    plain = sample.isascii() or not _BEYOND_ASCII.search(sample)  # signs and emoji tell no language
    if not plain and (script := _by_script(sample)):
        return script
    letters = _ASCII_LETTERS if plain else _LETTERS
    if plain and _plainly_english(letters.findall(sample[:_GLANCE].lower())):
        return "en"
    words = letters.findall(sample.lower())[:_SAMPLE_WORDS]
    if plain and _plainly_english(words):
        return "en"
    scores: dict[str, int] = {}
    vocabulary = _vocabulary()
    for word in words:
        codes = vocabulary.get(word, ())
        for code in codes:
            scores[code] = scores.get(code, 0) + (_OWN if len(codes) == 1 else 1)
    for code in [code for word in words if word not in vocabulary for code in _by_spelling(word)] if scores else ():
        if code in scores:
            scores[code] += 1
    if not scores:
        return "en" if all(map(str.isascii, words)) and _names_deeds(words) else ""
    best = max(sorted(scores), key=lambda code: (scores[code], code in LANGUAGES, code == "en"))
    return best if best in LANGUAGES else "?"


_OWN = 2  # what a word of one language alone counts, against one that several share
_SPELLINGS = (  # letters that only one of the languages read here writes so
    ("pt", re.compile(r"[ãõ]|ções$|ção$|lh|nh[aeo]|uou$")),
    ("es", re.compile(r"ñ|ción$|ciones$|^ll|uje$|[áéíóú]is$")),
    ("fr", re.compile(r"[èêœùûîëï]|eux$|ées?$|aux$")),
    ("de", re.compile(r"[äöüß]|ungen$|ung$|keit$|heit$|sch|ieren$|iert$")),
)


@lru_cache(8_192)
def _by_spelling(word: str) -> tuple[str, ...]:
    """The languages that an unknown word looks like."""
    return tuple(code for code, letters in _SPELLINGS if letters.search(word)) if len(word) > 3 else ()


def _names_deeds(words: list[str]) -> bool:
    """Whether a text without small words, as in a table, has English verbs or nouns of deeds in it."""
    english = language("en")
    return any(word in english.verbs or word in english.nouns for word in words)


def _plainly_english(words: list[str]) -> bool:
    """Whether so many words are English that no other lexicon need be looked at."""
    english = language("en")
    small = sum(map(english.sets["stopwords"].__contains__, words))
    if small >= 3 and small >= _ENGLISH_SHARE * len(words):
        return True
    return bool(words) and all(word in english.watched or word in english.sets["stopwords"] for word in words)


def _by_script(sample: str) -> str:
    letters = len(_LETTER.findall(sample)) or 1
    latin = len(_LATIN.findall(sample))
    if _KANA.search(sample) and len(_KANA.findall(sample)) + len(_HAN.findall(sample)) > letters * 0.2:
        return "ja"
    if len(_HAN.findall(sample)) > letters * 0.2:
        return "zh"
    if len(_DEVANAGARI.findall(sample)) > letters * 0.2:
        return "hi"
    return "" if latin > letters * 0.4 else "?"
