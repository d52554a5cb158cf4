"""A run against procedures: one finding for each procedure that its calls break.

Linear in the calls of a run for each procedure. What rests on the absence of a call accuses only a run of which every
call was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from overclaim.outcome.model import Call, Evidence, Finding, Grade, Judgement, Outcome, Run
from overclaim.procedures.breaches import Breaches, Step, breaches
from overclaim.procedures.constraint import Constraint, state

if TYPE_CHECKING:
    from overclaim.procedures.model import Procedure

TITLES: Final = {
    "OC401": "Calls came in an order that a procedure forbids",
    "OC402": "A step that a procedure requires is missing",
    "OC403": "A step that a procedure forbids was taken",
    "OC404": "A step was taken more or fewer times than a procedure says",
}
SHOWN: Final = 16  # calls in a finding


def judge(run: Run, procedures: Iterable[Procedure]) -> tuple[Finding, ...]:
    """What in a run breaks which procedures: findings OC401 to OC404, in the order of the procedures.

    Of each finding `calls` are the calls that show it (indexes), first those that break the procedure, in order, then
    what the first of them goes against; none where a step never came. Its evidence has the procedure's id as value.
    """
    steps = _steps(run)
    whole = run.complete and run.captured
    return tuple(finding for one in procedures for finding in _findings(run, one, steps, whole))


def with_violations(judgement: Judgement, procedures: Iterable[Procedure]) -> Judgement:
    """The judgement with what its run breaks of the procedures added to its findings; the verdict stays."""
    found = judge(judgement.run, procedures)
    return replace(judgement, findings=(*judgement.findings, *found)) if found else judgement


def _steps(run: Run) -> list[Step]:
    """The calls in order, each once, with how they ended."""
    calls = {call.index: call for call in run.calls}
    return [(calls[index], state(calls[index])) for index in sorted(calls)]


def _findings(run: Run, procedure: Procedure, steps: Sequence[Step], whole: bool) -> Iterable[Finding]:
    found: dict[str, Breaches] = {}
    for one in procedure.constraints:
        broken = _broken(one, run, steps, whole)
        if broken is not None:
            found.setdefault(one.rule, Breaches()).add(broken)
    calls = {call.index: call for call, _ in steps}
    return [_finding(run, procedure, rule, broken, calls) for rule, broken in found.items()]


def _broken(constraint: Constraint, run: Run, steps: Sequence[Step], whole: bool) -> Breaches | None:
    if not constraint.about(run.agent) or (constraint.needs_all and not whole):
        return None
    return breaches(constraint, steps, whole)


def _finding(run: Run, procedure: Procedure, rule: str, broken: Breaches, calls: dict[int, Call]) -> Finding:
    shown = broken.shown(SHOWN)
    span = calls[shown[0]].span_id if shown else run.span_id
    named = f"procedure.{procedure.template}"
    fact = Evidence("procedure", named, Outcome.FAILURE, Grade.STRUCTURED, procedure.id, span_id=span)
    return Finding(rule, procedure.severity, f"{TITLES[rule]}: {procedure.sentence}", shown, evidence=(fact,))
