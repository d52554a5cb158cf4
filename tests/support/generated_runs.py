"""Runs made up from a seed, with every kind of call and claim that the judges know; no two of a kind alike.

Left to chance, the turns that are hardest to judge are rare, so that half of the runs hold some of PATTERNS.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

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
from overclaim.reading.spans import Span

NOON = 1_767_268_800_000_000_000  # 2026-01-01 12:00:00 UTC
OBSERVED = (Outcome.SUCCESS, Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN)
CLAIMED = (Outcome.SUCCESS, Outcome.SUCCESS, Outcome.SUCCESS, Outcome.FAILURE, Outcome.PARTIAL)

S, F, P, U, E = Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.UNKNOWN, Outcome.EMPTY
READ, WRITE = Effect.READ, Effect.WRITE
# Rules of the facts by which a call is pending or empty; the others need no telling apart.
RULES = {
    Outcome.PENDING: (
        "text.action_required",
        "flag.action_required",
        "http.status_202",
        "status_word.pending",
        "status_word.handed_over",
    ),
    Outcome.EMPTY: ("empty.unusual", "empty.unusual", "rows.zero"),
}
MISMATCHES = ("claim.value_mismatch", "operation.last_outcome_failed")
# One attempt: its key, action, targets, effect and outcome.
Attempt = tuple[str, str, tuple[str, ...], Effect, Outcome]
PATTERNS: dict[str, tuple[Attempt, ...]] = {
    "unknown after a failure": (("make d", "create", ("d-4",), WRITE, F), ("make d", "create", ("d-4",), WRITE, U)),
    "unknown after pending": (("ask d", "send", (), WRITE, P), ("ask d", "send", (), WRITE, U)),
    "unknown after a success": (("make e", "create", (), WRITE, S), ("make e", "create", (), WRITE, U)),
    "deleted twice": (("drop d", "delete", ("d-4",), WRITE, S), ("drop d again", "delete", ("d-4",), WRITE, F)),
    "made, then deleted in vain": (("make d", "create", ("d-4",), WRITE, S), ("drop d", "delete", ("d-4",), WRITE, F)),
    "seen, not made": (("make f", "create", ("f-6",), WRITE, F), ("get f", "read", ("f-6",), READ, S)),
    "seen at last": (("get f", "read", ("f-6",), READ, F), ("get f by name", "read", ("f-6", "g-7"), READ, S)),
    "another deed": (("make f", "create", ("f-6",), WRITE, F), ("mail f", "send", ("f-6",), WRITE, S)),
    "any deed": (("make f", "create", ("f-6",), WRITE, F), ("script", "run", ("f-6",), Effect.UNKNOWN, S)),
    "pending, completed": (("pay g", "pay", ("g-7",), WRITE, P), ("confirm g", "confirm", ("g-7",), WRITE, S)),
    "nothing, then done": (("make h", "create", ("h-8",), WRITE, E), ("make h", "create", ("h-8",), WRITE, S)),
    "nothing, then seen": (("make h", "create", ("h-8",), WRITE, E), ("get h", "read", ("h-8",), READ, S)),
    "nothing, twice": (("make h", "create", ("h-8",), WRITE, E), ("make h", "create", ("h-8",), WRITE, E)),
    "pending, looked at": (("pay g", "pay", ("g-7",), WRITE, P), ("get g", "read", ("g-7",), READ, S)),
}


def make_run(seed: int) -> tuple[Run, list[Span]]:
    """A run and the spans of its trace."""
    dice = random.Random(seed)
    trace_id, run_span = f"{seed + 1:032x}", f"{seed + 1:08x}{0:08x}"
    start = NOON + seed * 60_000_000_000
    made = [_chance(dice) for _ in range(dice.choice((0, 1, 2, 3, 4, 6)))]
    for attempts in dice.sample(sorted(PATTERNS), dice.choice((0, 0, 1, 2))):
        _mix(dice, made, PATTERNS[attempts])
    calls = tuple(_call(dice, seed, index, attempt) for index, attempt in enumerate(made))
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


def _chance(dice: random.Random) -> Attempt:
    """Any attempt at all."""
    targets = tuple(dice.sample(("a-1", "b-2", "c-3"), dice.choice((0, 1, 2))))
    key = dice.choice(("", "create user", "send mail", "create order"))
    action = dice.choice(("", "run", "delegate", "create", "update", "send", "delete"))
    return key, action, targets, dice.choice(tuple(Effect)), dice.choice(OBSERVED)


def _mix(dice: random.Random, made: list[Attempt], attempts: tuple[Attempt, ...]) -> None:
    """Put attempts in between those that are there, in their order."""
    places = sorted(dice.randint(0, len(made)) for _ in attempts)
    for shift, (place, attempt) in enumerate(zip(places, attempts, strict=True)):
        made.insert(place + shift, attempt)


def _call(dice: random.Random, seed: int, index: int, attempt: Attempt) -> Call:
    key, action, targets, effect, outcome = attempt
    grade = dice.choice((*Grade, Grade.STRUCTURED))
    # The action is part of the key, as overclaim.outcome.operations makes it.
    named = f"{action or 'call'}:{key}" if key else ""
    return Call(
        index, dice.choice(("make", "post")), Operation(action, targets=targets, effect=effect, key=named),
        Observation(outcome, grade, tuple(_facts(dice, index, outcome, grade))),
        claimed=dice.choice((Outcome.SUCCESS, Outcome.FAILURE)),
        span_id=f"{seed + 1:08x}{index + 1:08x}",
    )  # fmt: skip


def _facts(dice: random.Random, index: int, outcome: Outcome, grade: Grade) -> Iterator[Evidence]:
    """What decided, mostly, and perhaps a suspicion that decides nothing."""
    if dice.random() < 0.8:
        yield Evidence("result_flag", dice.choice(RULES.get(outcome, ("result.flag",))), outcome, grade, str(index))
    if dice.random() < 0.1:
        yield Evidence("result_flag", "record.status_word.action_required", Outcome.PENDING, Grade.SUSPECT, "held")


def _claim(dice: random.Random, calls: tuple[Call, ...]) -> BoundClaim:
    about = sorted(dice.sample(range(len(calls)), dice.choice([n for n in (0, 1, 1, 2, 3) if n <= len(calls)])))
    mismatch = Evidence("mismatch", dice.choice(MISMATCHES), Outcome.FAILURE, Grade.INFERRED, "45")
    return BoundClaim(
        Claim(dice.choice(CLAIMED), action=dice.choice(("", "create", "start", "send", "read"))),
        about=tuple(about),
        mismatch=mismatch if dice.random() < 0.1 else None,
    )
