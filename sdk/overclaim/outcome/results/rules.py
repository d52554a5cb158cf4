"""The rules of lexicons/results.toml and lexicons/replies.toml, read once and compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from overclaim.outcome.lexicon import table
from overclaim.outcome.model import Effect, Outcome

SHORT = 600
"""Characters of a text that is short."""
_NEAR = 300
"""Characters at the beginning of a text in which a hint of a rule for beginnings stands."""
_NEVER = r"(?!)"
_FILES = ("results", "replies")


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
    hints: tuple[str, ...] = ()
    plain_hints: tuple[str, ...] = ()  # those that an ASCII text may hold
    commands: bool = False

    def matches(self, body: str, size: int, lines: int, effect: Effect, lowered: str = "") -> bool:
        """Whether a text (its first body line on) of so many characters and lines falls under this rule.

        lowered: the text in lower case, if it is at hand, for a look at the hints.
        """
        if size > self.chars or lines > self.lines or effect not in self.effects:
            return False
        if self.hints:
            seen = lowered or body.lower()
            hints = self.plain_hints if seen.isascii() else self.hints
            if not _holds(hints, seen[:_NEAR] if self.start and len(seen) > _NEAR else seen):
                return False
        if self.whole:
            found = self.pattern.fullmatch(body)
        else:
            found = self.pattern.match(body) if self.start else self.pattern.search(body)
        return bool(found) and not (self.unless and self.unless.search(body))


@cache
def names(group: str) -> frozenset[str]:
    """The field names of a group, in their normal form."""
    return _both("fields", group)


@cache
def words(group: str) -> frozenset[str]:
    """The status words of a group."""
    return _both("status", group)


@cache
def tool_words(group: str) -> frozenset[str]:
    """The words in names of tools, or the names of arguments, of a group."""
    return frozenset(table("replies")["tools"][group])


def _both(part: str, group: str) -> frozenset[str]:
    """What both files list."""
    rows = [table(name)[part] for name in _FILES]
    if not any(group in row for row in rows):
        raise KeyError(group)
    return frozenset[str]().union(*(row.get(group, ()) for row in rows))


def _holds(pieces: tuple[str, ...], text: str) -> bool:
    for piece in pieces:  # noqa: SIM110 - twice as fast as any() here
        if piece in text:
            return True
    return False


@cache
def exceptions(group: str) -> frozenset[str]:
    """Names of the exceptions of a group."""
    return frozenset(table("results")["exceptions"][group])


@cache
def line_pattern(group: str) -> re.Pattern[str]:
    """One pattern out of the [lines] of a group, for whole lines or texts."""
    row = (table("replies") if group in table("replies")["lines"] else table("results"))["lines"][group]
    parts: list[str] = [row] if isinstance(row, str) else row
    return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE | re.MULTILINE)


@cache
def text_rules() -> tuple[TextRule, ...]:
    """The text rules, in the order in which they are tried."""
    return (*first_rules(), *prose_rules())


@cache
def first_rules() -> tuple[TextRule, ...]:
    """The rules for shapes that nothing else has, which come before all others."""
    return tuple(_text_rule(row) for row in table("replies")["first"])


@cache
def prose_rules() -> tuple[TextRule, ...]:
    """The rules for texts whose quotes are left out."""
    return tuple(_text_rule(row) for name in _FILES for row in table(name)["text"])


@cache
def fitting(effect: Effect, *, first: bool = False, printed: bool = False, long: bool = False) -> tuple[TextRule, ...]:
    """The rules, first ones or the others, that can match the text of a call with an effect.

    printed: it is what a command printed that ended well. long: it has more than SHORT characters.
    """
    rules = first_rules() if first else prose_rules()[: len(table("results")["text"]) if printed else None]
    return tuple(rule for rule in rules if effect in rule.effects and (not long or rule.chars > SHORT))


@dataclass(frozen=True, slots=True)
class TailRule:
    """What the last lines of an output can show. Without one of the hints in them there is no need to search.

    begins: how a line begins that shows it. holds: what stands anywhere in one.
    """

    id: str
    hints: tuple[str, ...]
    begins: re.Pattern[str]
    holds: re.Pattern[str]
    unless: re.Pattern[str] | None = None

    def matches(self, lines: str) -> bool:
        """Whether the last lines fall under this rule."""
        there = tuple([hint for hint in self.hints if hint in lines])
        if not there:
            return False
        hinted = [line for line in lines.split("\n") if _holds(there, line)]
        if not any(self.begins.match(line) or self.holds.search(line) for line in hinted):
            return False
        return self.unless is None or self.unless.search(lines) is None


@cache
def tail_rules() -> tuple[TailRule, ...]:
    """The rules for the end of an output."""
    return tuple(_tail_rule(row) for row in table("results")["tail"])


@cache
def line_rules() -> tuple[TailRule, ...]:
    """The rules for lines that commands print where no exit code says how it went."""
    return tuple(_tail_rule(row) for row in table("replies")["line"])


@cache
def triggers() -> tuple[str, ...]:
    """Pieces of words of which a short text holds one if a rule for texts can match it."""
    pieces = dict.fromkeys([*table("results")["lines"]["trigger"], *table("replies")["lines"]["trigger"]])
    return _least(pieces)


def _least(pieces: Iterable[str]) -> tuple[str, ...]:
    """Pieces without those that hold another one, the short ones first, for they are likelier to be there."""
    given = tuple(dict.fromkeys(pieces))
    least = (one for one in given if not any(other != one and other in one for other in given))
    return tuple(sorted(least, key=len))


def _tail_rule(row: dict[str, Any]) -> TailRule:
    """One row for lines, compiled: patterns that begin with ^ are tried at the beginning of a line only."""
    patterns: list[str] = row["patterns"]
    unless = row.get("unless")
    return TailRule(
        id=row["id"],
        hints=tuple(row["hints"]),
        begins=re.compile("|".join(f"(?:{one})" for one in patterns if one.startswith("^")) or _NEVER),
        holds=re.compile("|".join(f"(?:{one})" for one in patterns if not one.startswith("^")) or _NEVER),
        unless=re.compile(unless) if unless else None,
    )


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
        hints=_least(row.get("hints", ())),
        plain_hints=tuple(one for one in _least(row.get("hints", ())) if one.isascii()),
        commands=bool(row.get("commands")),
    )
