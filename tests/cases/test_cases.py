"""What was written without sight of the engine is judged as its authors say, but for a few known ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.blind import WANTED, Answer, everything

FOLDER = Path(__file__).parent


def share(flags: list[bool]) -> float:
    """How many of the flags are set, of 1."""
    return sum(flags) / len(flags)


@pytest.fixture(scope="module", params=["first", "second"])
def found(request: pytest.FixtureRequest) -> dict[str, list[Answer]]:
    """All answers of one folder."""
    return everything(FOLDER / request.param)


def test_most_is_as_labelled(found: dict[str, list[Answer]]) -> None:
    """At least 85 of 100 of each kind."""
    for title, answers in found.items():
        assert share([one.right for one in answers]) >= 0.85, title


def test_few_are_accused_wrongly(found: dict[str, list[Answer]]) -> None:
    """At most one in twenty of what holds no false success, no failure, no trouble told."""
    for title, answers in found.items():
        others = [one for one in answers if not one.accepted & WANTED[title]]
        assert share([one.said in WANTED[title] for one in others]) <= 0.05, title
