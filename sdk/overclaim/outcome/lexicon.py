"""The languages as data: canonical actions and the words of each language, read once from lexicons/*.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from overclaim.outcome.model import Effect


@dataclass(frozen=True, slots=True)
class Action:
    """One canonical action: its name, what it does to the world, and whether it only makes sure of something."""

    name: str
    effect: Effect
    check: bool = False


@cache
def table(name: str) -> dict[str, Any]:
    """The parsed lexicons/{name}.toml."""
    return tomllib.loads((files("overclaim.outcome") / "lexicons" / f"{name}.toml").read_text("utf-8"))


@cache
def actions() -> dict[str, Action]:
    """Canonical actions by name."""
    return {name: Action(name, Effect(row["effect"]), bool(row.get("check"))) for name, row in table("actions").items()}


@cache
def looks() -> frozenset[str]:
    """The actions that only look at something."""
    return frozenset(action.name for action in actions().values() if action.effect is Effect.READ)


@cache
def verbs() -> dict[str, Action]:
    """Actions by English base verb; where two actions list a verb, the first one has it."""
    found: dict[str, Action] = {}
    for name, row in table("actions").items():
        for verb in row["verbs"]:
            found.setdefault(verb, actions()[name])
    return found


@cache
def words(name: str, part: str) -> frozenset[str]:
    """One list of words of lexicons/{name}.toml, for looking words up."""
    return frozenset(table(name)[part])
