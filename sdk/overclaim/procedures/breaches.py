"""The calls that break one constraint: one pass over the calls of a run, in memory of a position per target.

The same in SQL: queries/procedures/order.sql and the others there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from overclaim.outcome.model import Call
from overclaim.procedures.constraint import Constraint, Kind, Matcher

Step = tuple[Call, str]  # a call and how it ended
_RUN = ("",)  # what all calls share where targets do not matter


@dataclass(slots=True)
class Breaches:
    """The calls that break a constraint, each with the call it goes against, -1 where there is none."""

    against: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, other: Breaches) -> None:
        """Take in what breaks another constraint of the same procedure; the nearer call to go against counts."""
        for index, cause in other.against.items():
            self.against[index] = max(cause, self.against.get(index, -1))

    def shown(self, limit: int) -> tuple[int, ...]:
        """The breaking calls in order, at most so many, then what the first of them goes against."""
        breaking = sorted(self.against)
        cause = [self.against[index] for index in breaking[:1]]
        return (*breaking[:limit], *(one for one in cause if one >= 0 and one not in breaking[:limit]))


class _Seen:
    """Where calls of one kind were seen last: by target, and those of which no target is known."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._by_target: dict[str, int] = {}
        self._anywhere: int | None = None

    def look(self, step: Step, targets: Sequence[str]) -> None:
        if not self._matcher.states or not self._matcher.meets(*step):
            return
        if not targets:
            self._anywhere = step[0].index
        for target in targets:
            self._by_target[target] = step[0].index

    def on(self, target: str) -> int | None:
        """The last one surely on this target."""
        return self._by_target.get(target)

    def perhaps_on(self, targets: Iterable[str]) -> list[int]:
        """The last ones that were, or may have been, on any of these targets."""
        found = (self._anywhere, *(self._by_target.get(target) for target in targets))
        return [one for one in found if one is not None]


def breaches(constraint: Constraint, steps: Sequence[Step], whole: bool) -> Breaches | None:
    """What breaks the constraint, None if nothing does. whole: whether every call of the run was seen."""
    if constraint.kind is Kind.COUNT:
        return _miscounted(constraint, steps, whole)
    if constraint.kind in (Kind.FIRST, Kind.LAST):
        return _at_the_end(constraint, steps)
    found = dict(_related(constraint, steps))
    return Breaches(found) if found else None


def _targets(constraint: Constraint, call: Call) -> Sequence[str]:
    return call.operation.targets if constraint.per_target else _RUN


def _related(constraint: Constraint, steps: Sequence[Step]) -> Iterable[tuple[int, int]]:
    """The subjects that break a constraint by what came before them, or after them, and what they go against."""
    breaks = _banned if constraint.kind is Kind.NOT_AFTER else _alone
    partners, lifting = _Seen(constraint.partner), _Seen(constraint.unless)
    for step in reversed(steps) if constraint.kind is Kind.RESPONDS else steps:
        call, targets = step[0], _targets(constraint, step[0])
        if targets and constraint.subject.meets(*step):
            cause = breaks(constraint, call.index, targets, partners, lifting)
            if cause is not None:
                yield call.index, cause
        partners.look(step, targets)
        lifting.look(step, targets)


def _alone(constraint: Constraint, index: int, targets: Sequence[str], partners: _Seen, lifting: _Seen) -> int | None:
    """-1 where a subject has no partner near enough, and nothing lifts the obligation."""
    near = any(_near(constraint, index, partner) for partner in partners.perhaps_on(targets))
    return None if near or lifting.perhaps_on(targets) else -1


def _banned(constraint: Constraint, index: int, targets: Sequence[str], partners: _Seen, lifting: _Seen) -> int | None:
    """The latest partner that a subject should not have come after."""
    found = ((target, partners.on(target)) for target in targets)
    causes = [
        partner
        for target, partner in found
        if partner is not None
        and _near(constraint, index, partner)
        and not any(lift > partner for lift in lifting.perhaps_on((target,)))
    ]
    return max(causes, default=None)


def _near(constraint: Constraint, index: int, partner: int) -> bool:
    return not constraint.within or abs(index - partner) <= constraint.within


def _miscounted(constraint: Constraint, steps: Sequence[Step], whole: bool) -> Breaches | None:
    found: dict[str, list[int]] = {} if constraint.per_target else {"": []}
    for step in steps:
        if constraint.subject.meets(*step):
            for target in dict.fromkeys(_targets(constraint, step[0])):
                found.setdefault(target, []).append(step[0].index)
    wrong = [
        calls for calls in found.values() if len(calls) > constraint.high or (whole and len(calls) < constraint.low)
    ]
    return Breaches({index: -1 for calls in wrong for index in calls}) if wrong else None


def _at_the_end(constraint: Constraint, steps: Sequence[Step]) -> Breaches | None:
    """Of the calls that ended so that they count, the first or the last must be a subject."""
    ordered = steps if constraint.kind is Kind.FIRST else reversed(steps)
    end = next((step for step in ordered if step[1] in constraint.subject.states), None)
    if end is None or constraint.subject.meets(*end):
        return None
    return Breaches({end[0].index: -1})
