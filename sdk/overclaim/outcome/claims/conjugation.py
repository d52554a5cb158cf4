"""Romance verb forms that can stand for a deed done: participles, third and first person of the past.

Regular by the ending of the infinitive, as the tables of a lexicon give it; irregular verbs are listed there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

KINDS = ("participle", "third", "first")
_SOFT = ("é", "e", "i", "í")
_RESPELLED = {"c": "qu", "g": "gu", "ç": "c"}  # "publicar" -> "publiqué", "começar" -> "comecei"
_WITH_Z = {**_RESPELLED, "z": "c"}  # "comenzar" -> "comencé", but in Portuguese "atualizar" -> "atualizei"

Endings = Mapping[str, Mapping[str, Sequence[str]]]
Irregular = Mapping[str, Sequence[Sequence[str]]]


def forms(infinitive: str, endings: Endings, irregular: Irregular) -> Iterator[tuple[str, str]]:
    """Every form with its kind. endings: by the last letters of the infinitive; irregular: in the order of KINDS."""
    given = irregular.get(infinitive, ((), (), ()))
    stem, rule = infinitive[:-2], endings.get(infinitive[-2:], {})
    for at, kind in enumerate(KINDS):
        for form in given[at] or (_joined(stem, ending, infinitive) for ending in rule.get(kind, ())):
            yield form, kind


def preterites(participle: str) -> Iterator[str]:
    """The first persons of a weak German verb of one part: "gebucht" -> "buchte", "storniert" -> "stornierte"."""
    if not participle.endswith("t") or " " in participle:
        return
    if participle.startswith("ge"):
        stem = participle[2:]
    elif participle.endswith("iert") or participle.startswith(_INSEPARABLE):
        stem = participle
    else:
        return
    yield from (stem + "e", stem + "en")


_INSEPARABLE = ("be", "er", "ver", "zer", "ent", "über")


def _joined(stem: str, ending: str, infinitive: str) -> str:
    """Stem and ending; a stem keeps its sound before a soft vowel."""
    respelled = _RESPELLED if ending.startswith("ei") else _WITH_Z
    if infinitive.endswith("ar") and ending.startswith(_SOFT) and stem[-1:] in respelled:
        return stem[:-1] + respelled[stem[-1]] + ending
    return stem + ending
