"""What a fault of the harness is, and what comes of measuring it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How much is measured. quick: a fraction, for a first look; the others hold where it is not set."""

    quick: bool = False
    kills: int = 200
    soak_seconds: float = 120.0
    down_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, in words with figures. ok: whether the goal is held; None where it could not be measured."""

    said: str
    ok: bool | None


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the table."""

    name: str
    what: str
    goal: str
    measure: Callable[[Options], Measured]


def not_built(what: str) -> Measured:
    """The answer where the part that the goal is about is missing."""
    return Measured(f"not built: {what}", None)
