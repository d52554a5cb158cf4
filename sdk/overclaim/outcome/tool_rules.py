"""Which facts hold for a tool, from entries by name or pattern. What is declared on the tool itself comes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Final

from overclaim.outcome.model import NO_FACTS, ToolFacts
from overclaim.outcome.tool_names import fits, has_wildcards

_MOST: Final = 1024
_CONDITIONS: Final = ("success_when", "failure_when", "pending_when")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is declared for the tools whose name fits a pattern."""

    pattern: str
    facts: ToolFacts

    @property
    def exact(self) -> bool:
        """Whether it names one tool."""
        return not has_wildcards(self.pattern)

    def fits(self, tool: str) -> bool:
        """Whether it is about a tool."""
        return fits(self.pattern, tool)


class ToolRules:
    """Entries in order of precedence, save that those that name one tool come before patterns."""

    __slots__ = ("_entries", "_known")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = tuple(sorted(entries, key=lambda one: not one.exact))
        self._known: dict[str, ToolFacts] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def facts(self, tool: str, own: ToolFacts = NO_FACTS) -> ToolFacts:
        """The facts of a tool. own: those declared on the tool itself, which come before all others."""
        known = self._known.get(tool)
        if known is None:
            known = merged(entry.facts for entry in self._entries if entry.fits(tool))
            if len(self._known) < _MOST:
                self._known[tool] = known
        return known if own is NO_FACTS else merged((own, known))


def merged(facts: Iterable[ToolFacts]) -> ToolFacts:
    """Facts filled up from those that follow, field by field.

    The conditions go together: what one source says of results is not mixed with what another says of them.
    """
    whole = NO_FACTS
    for one in facts:
        whole = _filled(whole, one)
    return whole


def _filled(first: ToolFacts, then: ToolFacts) -> ToolFacts:
    skipped = _CONDITIONS if first.conditional else ()
    more = {
        field.name: value
        for field in fields(ToolFacts)
        if field.name not in skipped and getattr(first, field.name) == field.default
        and (value := getattr(then, field.name)) != field.default
    }  # fmt: skip
    return replace(first, **more) if more else first


NO_RULES: Final = ToolRules()
