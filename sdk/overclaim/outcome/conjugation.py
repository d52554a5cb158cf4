"""Romance verb forms that can stand for a deed done: participles, third and first person of the past.

Regular by the ending of the infinitive, as the tables of a lexicon give it; irregular verbs are listed there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

KINDS = ("participle", "third", "first")
_SOFT = ("é", "e", "i", "í")
_RESPELLED = {"c": "qu", "g": "gu", "z": "c", "ç": "c"}  # "publicar" -> "publiqué", "comenzar" -> "comencé"

Endings = Mapping[str, Mapping[str, Sequence[str]]]
Irregular = Mapping[str, Sequence[Sequence[str]]]


def forms(infinitive: str, endings: Endings, irregular: Irregular) -> Iterator[tuple[str, str]]:
    """Every form with its kind. endings: by the last letters of the infinitive; irregular: in the order of KINDS."""
    given = irregular.get(infinitive, ((), (), ()))
    stem, rule = infinitive[:-2], endings.get(infinitive[-2:], {})
    for at, kind in enumerate(KINDS):
        for form in given[at] or (_joined(stem, ending, infinitive) for ending in rule.get(kind, ())):
            yield form, kind


def _joined(stem: str, ending: str, infinitive: str) -> str:
    """Stem and ending; a stem keeps its sound before a soft vowel."""
    if infinitive.endswith("ar") and ending.startswith(_SOFT) and stem[-1:] in _RESPELLED:
        return stem[:-1] + _RESPELLED[stem[-1]] + ending
    return stem + ending
