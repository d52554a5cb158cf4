"""Runs made up from a seed, with every kind of call and claim that the judges know; no two of a kind alike."""

from __future__ import annotations

import random

from overclaim.outcome.model import (
    BoundClaim,
    Call,
    Claim,
    Effect,
    Evidence,
    Grade,
    Observation,
    Operation,
    Outcome,
    Run,
)  # fmt: skip
from overclaim.spans import Span

NOON = 1_767_268_800_000_000_000  # 2026-01-01 12:00:00 UTC
OBSERVED = (Outcome.SUCCESS, Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN)
CLAIMED = (Outcome.SUCCESS, Outcome.SUCCESS, Outcome.SUCCESS, Outcome.FAILURE, Outcome.PARTIAL)


def make_run(seed: int) -> tuple[Run, list[Span]]:
    """A run and the spans of its trace."""
    dice = random.Random(seed)
    trace_id, run_span = f"{seed + 1:032x}", f"{seed + 1:08x}{0:08x}"
    start = NOON + seed * 60_000_000_000
    calls = tuple(_call(dice, seed, index) for index in range(dice.choice((0, 1, 2, 3, 4, 6))))
    claims = tuple(_claim(dice, calls) for _ in range(dice.choice((0, 1, 1, 2, 3))))
    run = Run(
        id=run_span, calls=calls, claims=claims, claimed=dice.choice((Outcome.SUCCESS, Outcome.NONE)),
        captured=dice.random() < 0.8, complete=dice.random() < 0.8, agent="clerk", trace_id=trace_id, span_id=run_span,
    )  # fmt: skip
    spans = [Span(trace_id, run_span, name="invoke_agent clerk", service="shop", start_ns=start, end_ns=start + 1000)]
    spans += [_span(call, run, start + 10 * call.index, dice) for call in calls]
    return run, spans


def _span(call: Call, run: Run, start: int, dice: random.Random) -> Span:
    name, status = f"execute_tool {call.tool}", dice.choice(("Unset", "Error"))
    times = {"start_ns": start, "end_ns": start + 5}
    return Span(run.trace_id, call.span_id, run.span_id, name=name, service="shop", status=status, **times)


def _call(dice: random.Random, seed: int, index: int) -> Call:
    outcome, grade = dice.choice(OBSERVED), dice.choice((*Grade, Grade.STRUCTURED))
    operation = Operation(
        action=dice.choice(("", "run", "create", "send")),
        targets=tuple(dice.sample(("a-1", "b-2", "c-3"), dice.choice((0, 1, 2)))),
        effect=dice.choice(tuple(Effect)),
        key=dice.choice(("", "create user", "send mail", "create order")),
    )
    facts = (Evidence("result_flag", "result.flag", outcome, grade, str(index)),) if dice.random() < 0.8 else ()
    return Call(
        index, dice.choice(("make", "post")), operation, Observation(outcome, grade, facts),
        claimed=dice.choice((Outcome.SUCCESS, Outcome.FAILURE)), span_id=f"{seed + 1:08x}{index + 1:08x}",
    )  # fmt: skip


def _claim(dice: random.Random, calls: tuple[Call, ...]) -> BoundClaim:
    about = sorted(dice.sample(range(len(calls)), dice.choice([n for n in (0, 1, 1, 2, 3) if n <= len(calls)])))
    mismatch = Evidence("mismatch", "claim.value_mismatch", Outcome.FAILURE, Grade.INFERRED, "45")
    return BoundClaim(
        Claim(dice.choice(CLAIMED), action=dice.choice(("", "create"))),
        about=tuple(about),
        mismatch=mismatch if dice.random() < 0.1 else None,
    )
