"""Declared procedures -> constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from overclaim.procedures.constraint import NOTHING, Constraint, Kind, Matcher

if TYPE_CHECKING:
    from overclaim.procedures.activity import Activity
    from overclaim.procedures.model import Procedure


def constraints(procedure: Procedure) -> tuple[Constraint, ...]:
    """What a procedure comes down to; succession and not_together come down to two."""
    one = procedure
    if one.precedence:
        return (_precedes(one, one.precedence.first, one.precedence.then),)
    if one.response:
        return (_responds(one, one.response.when, one.response.then),)
    if one.succession:
        first, then = one.succession.first, one.succession.then
        return (_precedes(one, first, then), _responds(one, first, then))
    if one.not_after:
        return (_not_after(one, "OC401", one.not_after.after, one.not_after.never),)
    if one.not_together:
        left, right = one.not_together
        return (_not_after(one, "OC403", left, right), _not_after(one, "OC403", right, left))
    return (_counted(one) or _at_an_end(one),)


def _precedes(procedure: Procedure, first: Activity, then: Activity) -> Constraint:
    return _made(procedure, "OC401", Kind.PRECEDES, then, partner=first.matcher())


def _responds(procedure: Procedure, when: Activity, then: Activity) -> Constraint:
    return _made(procedure, "OC402", Kind.RESPONDS, when, partner=then.matcher(), unless=_lifting(procedure, when))


def _not_after(procedure: Procedure, rule: str, after: Activity, never: Activity) -> Constraint:
    lifting = _lifting(procedure, after)
    return _made(procedure, rule, Kind.NOT_AFTER, never, partner=after.matcher(), unless=lifting)


def _lifting(procedure: Procedure, start: Activity) -> Matcher:
    """What lifts a ban or an obligation. Agents recover: what failed and then went well has no consequences."""
    if procedure.unless:
        return procedure.unless.matcher()
    return start.model_copy(update={"outcome": ("done",)}).matcher() if start.only_failures else NOTHING


def _counted(procedure: Procedure) -> Constraint | None:
    one = procedure
    if one.absence:
        return _made(one, "OC403", Kind.COUNT, one.absence, high=0)
    if one.existence:
        return _made(one, "OC402", Kind.COUNT, one.existence, low=1)
    if one.exactly:
        return _made(one, "OC404", Kind.COUNT, one.exactly.of, low=one.exactly.times, high=one.exactly.times)
    if one.at_least:
        return _made(one, "OC404", Kind.COUNT, one.at_least.of, low=one.at_least.times)
    if one.at_most:
        return _made(one, "OC404", Kind.COUNT, one.at_most.of, high=one.at_most.times)
    return None


def _at_an_end(procedure: Procedure) -> Constraint:
    end = procedure.first or procedure.last
    assert end is not None  # a procedure has exactly one template
    return _made(procedure, "OC401", Kind.FIRST if procedure.first else Kind.LAST, end)


def _made(procedure: Procedure, rule: str, kind: Kind, subject: Activity, **more: Any) -> Constraint:
    return Constraint(
        rule=rule, kind=kind, template=procedure.template, subject=subject.matcher(),
        agent=procedure.agent, per_target=procedure.per == "target", within=procedure.within or 0, **more,
    )  # fmt: skip
