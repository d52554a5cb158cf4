"""English verb forms: past and participle of a base verb, regular by rule, irregular from lexicons/en.toml."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

_VOWELS = "aeiou"


def past(verb: str, doubling: Collection[str]) -> str:
    """The regular past: "update" -> "updated", "apply" -> "applied", "ship" -> "shipped"."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and len(verb) > 1 and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return f"{verb}{verb[-1]}ed" if verb in doubling else verb + "ed"


def pasts(verb: str, irregular: Mapping[str, Sequence[str]], doubling: Collection[str]) -> tuple[str, ...]:
    """Every form that can stand for a deed done: past and participle, both spellings of "cancelled"."""
    if verb in irregular:
        return (*irregular[verb], past(verb, doubling))  # "sended" is heard too
    regular = past(verb, doubling)
    if verb.endswith("l") and verb[-2:-1] in _VOWELS:
        return (regular, verb + "led")
    return (regular,)


def british(form: str) -> str:
    """The other spelling of a past form: "authorized" -> "authorised", "analyzed" -> "analysed"."""
    return f"{form[:-3]}sed" if form.endswith(("ized", "yzed")) else form
