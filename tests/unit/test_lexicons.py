"""The lexicons as data: nothing stands twice in one list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, cast

import pytest

from overclaim.outcome.lexicon import table

NAMES = sorted(
    one.name.removesuffix(".toml")
    for one in (files("overclaim.outcome") / "lexicons").iterdir()
    if one.name.endswith(".toml")
)
PLACED = ("irregular", "irregular_verbs")  # tables whose lists give forms by their place: "put", "put"


@pytest.mark.parametrize("name", NAMES)
def test_no_list_of_a_lexicon_holds_a_word_twice(name: str) -> None:
    """A doubled entry says nothing and hides that a list was not read before it was added to."""
    assert dict(_doubled(table(name), ())) == {}


def _doubled(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """The lists under a value with the words that stand in them more than once, by where they stand."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            if key not in PLACED:
                yield from _doubled(inner, (*path, key))
    elif isinstance(value, list):
        words = [one for one in cast("list[object]", value) if isinstance(one, str)]
        if twice := [word for word, count in Counter(words).items() if count > 1]:
            yield ".".join(path), twice
