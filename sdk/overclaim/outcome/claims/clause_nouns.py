"""What a clause is about: the action that a noun names, and its nouns as objects."""

from __future__ import annotations

from functools import lru_cache

from overclaim.outcome.claims.clauses import is_name
from overclaim.outcome.claims.language import Language, language
from overclaim.outcome.claims.scan import CLEAN, Event
from overclaim.outcome.words import singular as one_of

singular = lru_cache(8192)(one_of)
MAX_OBJECTS = 6


def kind_of_deed(event: Event, words: list[str], lang: Language) -> str:
    """The action of the verb; a verb that only says "carried out" takes it from the noun beside it."""
    if event.action and event.verb not in lang.sets["light"]:
        return event.action
    if event.mode in ("finding", CLEAN) or (event.mode == "state" and event.verb not in lang.sets["ended"]):
        return ""
    for at, word in enumerate(words):
        action = _named_action(word, lang.code)
        if action and not _only_tells_kind(words, at, lang):
            return action
    return event.action


@lru_cache(16_384)
def _named_action(word: str, code: str) -> str:
    nouns = language(code).nouns
    return nouns.get(word) or nouns.get(singular(word)) or ""


def _only_tells_kind(words: list[str], at: int, lang: Language) -> bool:
    """As in "the test sandbox", where no test is meant."""
    after = words[at + 1] if at + 1 < len(words) else ""
    if after not in lang.sets.get("places_of_work", ()):
        return False
    return not lang.clause_reach


def objects(words: list[str], start: int, event: Event, lang: Language) -> tuple[str, ...]:
    """The nouns of a clause, singular, as far as words can be told apart without a dictionary."""
    own = range(event.at, max(event.end, event.at + 1))
    verb = event.verb.split()
    rest = (
        word for at, word in enumerate(words, start) if word not in lang.no_nouns and at not in own and word not in verb
    )
    found: dict[str, None] = {}
    for word in rest:
        if noun := _noun(word, lang.code):
            found[noun] = None
            if len(found) == MAX_OBJECTS:
                break
    return tuple(found)


@lru_cache(16_384)
def _noun(word: str, code: str) -> str:
    """The singular of a word that may be a noun, else ""."""
    return singular(word) if _may_be_noun(word, language(code)) else ""


def _may_be_noun(word: str, lang: Language) -> bool:
    if len(word) < 3 or word in lang.counts or not word.isalpha() or is_name(word) or word.endswith("ly"):
        return False
    known = lang.verbs.get(word)
    return known is None or not known.done or known.bare
