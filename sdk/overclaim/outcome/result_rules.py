"""The rules of lexicons/results.toml, read once and compiled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from overclaim.outcome.lexicon import table
from overclaim.outcome.model import Effect, Outcome


@dataclass(frozen=True, slots=True)
class TextRule:
    """One rule for texts: where its pattern stands, and in how long a text it still means something."""

    id: str
    outcome: Outcome
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    whole: bool
    start: bool
    chars: int
    lines: int
    effects: frozenset[Effect]

    def matches(self, body: str, size: int, lines: int, effect: Effect) -> bool:
        """Whether a text (its first body line on) of so many characters and lines falls under this rule."""
        if size > self.chars or lines > self.lines or effect not in self.effects:
            return False
        if self.whole:
            found = self.pattern.fullmatch(body)
        else:
            found = self.pattern.match(body) if self.start else self.pattern.search(body)
        return bool(found) and not (self.unless and self.unless.search(body))


@cache
def names(group: str) -> frozenset[str]:
    """The field names of a group, in their normal form."""
    return frozenset(table("results")["fields"][group])


@cache
def words(group: str) -> frozenset[str]:
    """The status words of a group."""
    return frozenset(table("results")["status"][group])


@cache
def exceptions(group: str) -> frozenset[str]:
    """Names of the exceptions of a group."""
    return frozenset(table("results")["exceptions"][group])


@cache
def line_pattern(group: str) -> re.Pattern[str]:
    """One pattern out of the [lines] of a group, for whole lines or texts."""
    row = table("results")["lines"][group]
    parts: list[str] = [row] if isinstance(row, str) else row
    return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE | re.MULTILINE)


@cache
def text_rules() -> tuple[TextRule, ...]:
    """The text rules, in the order in which they are tried."""
    return tuple(_text_rule(row) for row in table("results")["text"])


@dataclass(frozen=True, slots=True)
class TailRule:
    """What the last lines of an output can show. Without one of the hints in them there is no need to search."""

    id: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]

    def matches(self, lines: str) -> bool:
        """Whether the last lines fall under this rule."""
        for hint in self.hints:
            if hint in lines:
                return self.pattern.search(lines) is not None
        return False


@cache
def tail_rules() -> tuple[TailRule, ...]:
    """The rules for the end of an output."""
    return tuple(_tail_rule(row) for row in table("results")["tail"])


@cache
def triggers() -> tuple[str, ...]:
    """Pieces of words of which a short text holds one if a rule for texts can match it."""
    return tuple(table("results")["lines"]["trigger"])


def _tail_rule(row: dict[str, Any]) -> TailRule:
    pattern = "|".join(f"(?:{one})" for one in row["patterns"])
    return TailRule(row["id"], tuple(row["hints"]), re.compile(pattern, re.MULTILINE))


def _text_rule(row: dict[str, Any]) -> TextRule:
    """One row of the file, compiled."""
    flags = 0 if row.get("case") else re.IGNORECASE
    unless = row.get("unless")
    return TextRule(
        id=row["id"],
        outcome=Outcome(row["outcome"]),
        pattern=re.compile("|".join(f"(?:{one})" for one in row["patterns"]), flags),
        unless=re.compile(unless, re.IGNORECASE) if unless else None,
        whole=row["where"] == "whole",
        start=row["where"] == "start",
        chars=row["chars"],
        lines=row["lines"],
        effects=frozenset(Effect(name) for name in row.get("effects", list(Effect))),
    )
