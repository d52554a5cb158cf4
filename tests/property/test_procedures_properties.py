"""Laws of procedures, and the same findings by another way: quantifiers over all pairs of calls, word for word."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from generated_procedures import made_procedures, made_run
from hypothesis import given, settings
from hypothesis import strategies as st

from overclaim.outcome.history import bad
from overclaim.outcome.model import Call, Finding, Grade, Observation, Outcome, Run
from overclaim.outcome.words import split_name
from overclaim.procedures import Activity, Procedure, judge

Broken = set[tuple[str, str, frozenset[int]]]
SEEDS = st.integers(0, 10**6)
PROCEDURES = 36


def fits(what: Activity, call: Call) -> bool:
    """Whether a call is one of this activity, as its documentation says."""
    names = (call.tool.lower(), "_".join(split_name(call.tool)))
    tools = not what.tool or any(fnmatchcase(name, one.lower()) for name in names for one in what.tool)
    actions = not what.action or call.operation.action in what.action
    return tools and actions and (not what.effect or call.operation.effect in what.effect) and ended(what, call)


def ended(what: Activity, call: Call) -> bool:
    """Whether it ended as the activity says."""
    suspected = call.observed.outcome is Outcome.FAILURE and not bad(call)
    how = "failure" if bad(call) else "unknown" if suspected else call.observed.outcome.value
    return any(word == "any" or word == how or (word == "done" and how != "failure") for word in what.outcome)


def may_share(one: Procedure, subject: Call, other: Call) -> bool:
    """Whether the other call can keep a procedure for the subject."""
    theirs = set(other.operation.targets)
    return one.per == "run" or not theirs or bool(theirs & set(subject.operation.targets))


def near(one: Procedure, left: Call, right: Call) -> bool:
    """Whether two calls are as close as the procedure says."""
    return one.within is None or abs(left.index - right.index) <= one.within


def judged(one: Procedure, what: Activity, run: Run) -> Iterator[Call]:
    """The calls of an activity that a procedure can judge."""
    return (call for call in run.calls if fits(what, call) and (one.per == "run" or call.operation.targets))


def lifts(one: Procedure, start: Activity, call: Call) -> bool:
    """Whether a call lifts a ban or an obligation."""
    if one.unless is not None:
        return fits(one.unless, call)
    recovered = start.model_copy(update={"outcome": ("done",)})
    return start.outcome == ("failure",) and fits(recovered, call)


def without_before(one: Procedure, first: Activity, then: Activity, run: Run) -> set[int]:
    """The second steps without a first one before them."""
    return {
        call.index
        for call in judged(one, then, run)
        if not any(
            fits(first, other) and other.index < call.index and near(one, call, other) and may_share(one, call, other)
            for other in run.calls
        )
    }


def without_after(one: Procedure, when: Activity, then: Activity, run: Run, *, lifted: bool) -> set[int]:
    """The steps without an answer after them, and without what lifts the obligation."""
    return {
        call.index
        for call in judged(one, when, run)
        if not any(
            other.index > call.index
            and may_share(one, call, other)
            and ((fits(then, other) and near(one, call, other)) or (lifted and lifts(one, when, other)))
            for other in run.calls
        )
    }


def banned(one: Procedure, after: Activity, never: Activity, run: Run) -> set[int]:
    """The steps after what rules them out, with nothing in between that lifts the ban."""
    found = set[int]()
    for call in judged(one, never, run):
        for target in call.operation.targets if one.per == "target" else ("",):
            for cause in judged(one, after, run):
                alike = one.per == "run" or target in cause.operation.targets
                between = [other for other in run.calls if cause.index < other.index < call.index]
                free = any(
                    lifts(one, after, other)
                    and (one.per == "run" or not other.operation.targets or target in other.operation.targets)
                    for other in between
                )
                if cause.index < call.index and alike and near(one, call, cause) and not free:
                    found.add(call.index)
    return found


def by_pairs(one: Procedure, run: Run) -> Broken:
    """What breaks a procedure, by looking at all pairs."""
    if not fnmatchcase(run.agent.lower(), one.agent.lower()):
        return set()
    whole = run.complete and run.captured
    found: dict[str, set[int] | None] = {}
    if (order := one.precedence or one.succession) and whole:
        found["OC401"] = without_before(one, order.first, order.then, run) or None
    if one.succession and whole:
        found["OC402"] = without_after(one, one.succession.first, one.succession.then, run, lifted=True) or None
    if one.response and whole:
        found["OC402"] = without_after(one, one.response.when, one.response.then, run, lifted=True) or None
    if one.not_after and (whole or not (one.within or one.unless or one.not_after.after.outcome == ("failure",))):
        found["OC401"] = banned(one, one.not_after.after, one.not_after.never, run) or None
    if one.not_together:
        left, right = one.not_together
        found["OC403"] = banned_pair(one, left, right, run) or None
    found |= counted(one, run, whole) | at_an_end(one, run, whole)
    return {(one.id, rule, frozenset(calls)) for rule, calls in found.items() if calls is not None}


def banned_pair(one: Procedure, left: Activity, right: Activity, run: Run) -> set[int]:
    """The later ones of two that rule each other out, with nothing that lifts it but what failed and then went well."""
    open_ended = (left.outcome != ("failure",), right.outcome != ("failure",))
    found = banned(one, left, right, run) if open_ended[0] or (run.complete and run.captured) else set[int]()
    return found | (banned(one, right, left, run) if open_ended[1] or (run.complete and run.captured) else set[int]())


def counted(one: Procedure, run: Run, whole: bool) -> dict[str, set[int] | None]:
    """The steps that are too many or too few."""
    limits = {
        "OC403": (one.absence, 0, 0),
        "OC402": (one.existence, 1, 10**9),
        "OC404": next(
            (
                (times.of, low, high)
                for times, low, high in (
                    (one.exactly, one.exactly and one.exactly.times, one.exactly and one.exactly.times),
                    (one.at_least, one.at_least and one.at_least.times, 10**9),
                    (one.at_most, 0, one.at_most and one.at_most.times),
                )
                if times
            ),
            (None, 0, 0),
        ),
    }
    found: dict[str, set[int] | None] = {}
    for rule, (what, low, high) in limits.items():
        if what is None:
            continue
        calls = list(judged(one, what, run))
        groups = [{call.index for call in calls}]
        if one.per == "target":
            targets = {target for call in calls for target in call.operation.targets}
            groups = [{call.index for call in calls if target in call.operation.targets} for target in targets]
        wrong = [group for group in groups if len(group) > (high or 0) or (whole and len(group) < (low or 0))]
        found[rule] = set[int]().union(*wrong) if wrong else None
    return found


def at_an_end(one: Procedure, run: Run, whole: bool) -> dict[str, set[int] | None]:
    """The first or last call that is another one."""
    what, place = (one.first, 0) if one.first else (one.last, -1)
    ends = [call for call in run.calls if what is not None and ended(what, call)]
    if what is None or not whole or not ends or fits(what, ends[place]):
        return {}
    return {"OC401": {ends[place].index}}


def found(procedures: tuple[Procedure, ...], run: Run) -> Broken:
    """What the judge finds; the calls that break a procedure, without what they go against."""
    return {(finding.evidence[0].value, finding.rule, frozenset(finding.calls)) for finding in judge(run, procedures)}


@settings(max_examples=300, deadline=None)
@given(run_seed=SEEDS, seed=SEEDS)
def test_one_pass_finds_what_all_pairs_show(run_seed: int, seed: int) -> None:
    """Looking at each call once finds the same breaches as looking at all pairs of calls."""
    run, procedures = made_run(run_seed)[0], made_procedures(seed, PROCEDURES)
    expected = {key for one in procedures for key in by_pairs(one, run)}
    got = found(procedures, run)
    assert {(name, rule) for name, rule, _ in got} == {(name, rule) for name, rule, _ in expected}
    shown = {(name, rule): calls for name, rule, calls in got}
    for name, rule, calls in expected:  # what they go against is shown as well, and is one call at most
        assert calls <= shown[name, rule]
        assert len(shown[name, rule] - calls) <= 1


@settings(max_examples=100, deadline=None)
@given(run_seed=SEEDS, seed=SEEDS)
def test_order_of_arrival_and_duplicates_change_nothing(run_seed: int, seed: int) -> None:
    """Calls may come in any order and more than once: their numbers say where they belong."""
    run, procedures = made_run(run_seed)[0], made_procedures(seed, PROCEDURES)
    mixed = [*run.calls, *random.Random(seed).sample(run.calls, len(run.calls) // 2)]
    random.Random(run_seed).shuffle(mixed)
    assert judge(replace(run, calls=tuple(mixed)), procedures) == judge(run, procedures)


@settings(max_examples=200, deadline=None)
@given(run_seed=SEEDS, seed=SEEDS)
def test_less_is_found_where_calls_may_be_missing(run_seed: int, seed: int) -> None:
    """A run of which not every call was seen has no missing step, and no finding that it would not have as a whole."""
    run, procedures = made_run(run_seed)[0], made_procedures(seed, PROCEDURES)
    whole = judge(replace(run, complete=True, captured=True), procedures)
    for unseen in (replace(run, complete=False), replace(run, captured=False)):
        got = judge(unseen, procedures)
        assert {finding.rule for finding in got} <= {"OC401", "OC403", "OC404"}
        assert _told(got) <= _told(whole)


def _told(findings: Iterable[Finding]) -> set[tuple[str, str]]:
    return {(one.rule, one.evidence[0].value) for one in findings}


@settings(max_examples=200, deadline=None)
@given(run_seed=SEEDS, seed=SEEDS)
def test_what_was_not_seen_never_takes_back_a_finding(run_seed: int, seed: int) -> None:
    """What is found in a part of a run is found in the whole of it: missing calls accuse nobody."""
    run, procedures = made_run(run_seed)[0], made_procedures(seed, PROCEDURES)
    dice = random.Random(seed)
    part = replace(run, complete=False, calls=tuple(call for call in run.calls if dice.random() < 0.6))
    of_part = {(one.rule, one.evidence[0].value) for one in judge(part, procedures)}
    of_whole = {(one.rule, one.evidence[0].value) for one in judge(replace(run, complete=False), procedures)}
    assert of_part <= of_whole


@settings(max_examples=200, deadline=None)
@given(run_seed=SEEDS, seed=SEEDS, place=st.integers(0, 12))
def test_a_failed_attempt_breaks_nothing_by_itself(run_seed: int, seed: int, place: int) -> None:
    """One more call that failed adds no finding where procedures count what was done, near or far."""
    run = made_run(run_seed)[0]
    plain = tuple(
        one for one in made_procedures(seed, PROCEDURES) if one.within is None and "failure" not in _counting(one)
    )
    at = min(place, len(run.calls))
    shifted = [replace(call, index=call.index + (call.index >= at)) for call in run.calls]
    failed = Observation(Outcome.FAILURE, Grade.STRUCTURED)
    tried = replace(made_run(seed)[0].calls[0], index=at, observed=failed) if made_run(seed)[0].calls else None
    more = replace(run, calls=(*shifted, *([tried] if tried else [])))
    names = [{(one.rule, one.evidence[0].value) for one in judge(made, plain)} for made in (run, more)]
    assert names[0] == names[1]


def _counting(one: Procedure) -> set[str]:
    """How calls that a procedure is about may have ended."""
    roles = (who for part in one.constraints for who in (part.subject, part.partner, part.unless))
    return {state for who in roles for state in who.states}
