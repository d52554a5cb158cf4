"""What procedures come down to: a few kinds of constraint on calls, as plain data, for Python and for SQL alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from overclaim.outcome.history import bad
from overclaim.outcome.model import Call, Outcome
from overclaim.outcome.tool_names import like
from overclaim.procedures.patterns import fit

STATES: Final = ("success", "failure", "pending", "empty", "unknown")
NO_LIMIT: Final = 2**32 - 1


class Kind(StrEnum):
    """What a constraint says about the calls that are its subject.

    precedes: a partner came before each. responds: a partner comes after each. not_after: no partner came before any.
    count: there are `low` to `high` of them. first, last: the run begins, or ends, with one.
    """

    PRECEDES = "precedes"
    RESPONDS = "responds"
    NOT_AFTER = "not_after"
    COUNT = "count"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True)
class Matcher:
    """Which calls count. tools: patterns; actions, effects: empty for all; states: how they ended."""

    tools: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    states: tuple[str, ...] = ()

    def meets(self, call: Call, state: str) -> bool:
        """Whether the call, which ended in this state, counts."""
        return state in self.states and self._means(call)

    def _means(self, call: Call) -> bool:
        operation = call.operation
        if self.actions and operation.action not in self.actions:
            return False
        return (not self.effects or operation.effect.value in self.effects) and fit(self.tools, call.tool)


NOTHING = Matcher()


@dataclass(frozen=True)
class Constraint:
    """One constraint of a procedure.

    template: the word it was declared by, such as "precedence". agent: a pattern. within: how many calls
    apart at most, 0 for any number. low, high: how many calls, for Kind.COUNT. unless: a call that comes in between
    (not_after) or after (responds) and lifts the constraint.
    """

    rule: str
    kind: Kind
    template: str
    subject: Matcher
    partner: Matcher = NOTHING
    unless: Matcher = NOTHING
    agent: str = ""
    per_target: bool = False
    within: int = 0
    low: int = 0
    high: int = NO_LIMIT

    @property
    def needs_all(self) -> bool:
        """Whether a call that was not seen might have kept it, so that only a complete, captured run breaks it.

        Calls in between that were not seen make two calls look closer than they are.
        """
        if self.kind is Kind.COUNT:
            return self.high == NO_LIMIT
        return self.kind is not Kind.NOT_AFTER or bool(self.within or self.unless.states)

    def about(self, agent: str) -> bool:
        """Whether it is about runs of this agent."""
        return like(self.agent, agent)


def state(call: Call) -> str:
    """How a call ended: as observed, where a write of nothing failed, and a suspicion says nothing."""
    if bad(call):
        return "failure"
    outcome = call.observed.outcome
    return "unknown" if outcome is Outcome.FAILURE else outcome.value
