"""Runs and procedures made up from a seed, of few enough tools, targets and outcomes that they meet often."""

from __future__ import annotations

import random
from typing import Any

from overclaim.outcome.model import Call, Effect, Evidence, Grade, Observation, Operation, Outcome, Run
from overclaim.procedures import Procedure, load
from overclaim.procedures.model import TEMPLATES
from overclaim.reading.spans import Span

NOON = 1_767_268_800_000_000_000  # 2026-01-01 12:00:00 UTC
AGENTS = ("payer", "pay desk", "clerk")
TOOLS = ("charge", "Charge.Card", "send_mail", "send*mail", "look+up", "line\nbreak", "äÖ", "x]-", "sendMail")
GLOBS = (
    "charge",
    "charge*",
    "*mail",
    "send?mail",
    "*",
    "look+up",
    "line?break",
    "??",
    "charge.card",
    "[CS]*",
    "[!cs]*",
    "*[]]*",
    "[a-e-]*",
    "Äö",
    "a[",
    "none",
)
ACTIONS = ("", "pay", "send", "read")
TARGETS = ("a-1", "b-2", "c-3")
OUTCOMES = (Outcome.SUCCESS, Outcome.SUCCESS, Outcome.FAILURE, Outcome.PENDING, Outcome.EMPTY, Outcome.UNKNOWN)
WORDS = ("done", "done", "done", "any", "failure", "success", ["pending", "empty"], "unknown")


def made_run(seed: int) -> tuple[Run, list[Span]]:
    """A run of up to a dozen calls and the spans of its trace."""
    dice = random.Random(seed)
    trace_id, run_span = f"{seed + 1:032x}", f"{seed + 1:08x}{0:08x}"
    start = NOON + seed * 60_000_000
    calls = tuple(_call(dice, f"{seed + 1:08x}", index) for index in range(dice.choice((0, 1, 2, 3, 4, 6, 9, 12))))
    run = Run(
        id=run_span, calls=calls, agent=dice.choice(AGENTS), captured=dice.random() < 0.8,
        complete=dice.random() < 0.8, trace_id=trace_id, span_id=run_span,
    )  # fmt: skip
    spans = [Span(trace_id, run_span, service="shop", start_ns=start, end_ns=start + 1000)]
    spans += [Span(trace_id, call.span_id, run_span, start_ns=start + call.index, end_ns=start + 500) for call in calls]
    return run, spans


def _call(dice: random.Random, prefix: str, index: int) -> Call:
    targets = tuple(dice.choices(TARGETS, k=dice.choice((0, 1, 1, 2))))
    outcome, grade = dice.choice(OUTCOMES), dice.choice((*Grade, Grade.STRUCTURED))
    operation = Operation(dice.choice(ACTIONS), targets=targets, effect=dice.choice(tuple(Effect)), key=f"k{index}")
    rule = dice.choice(("result.flag", "result.flag", "empty.unusual"))
    facts = (Evidence("result_flag", rule, outcome, grade),)
    span_id = f"{prefix}{index + 1:08x}"
    return Call(index, dice.choice(TOOLS), operation, Observation(outcome, grade, facts), span_id=span_id)


def made_procedures(seed: int, count: int) -> tuple[Procedure, ...]:
    """So many procedures, of every template in turn."""
    dice = random.Random(seed)
    return load([_procedure(dice, f"p{place}", TEMPLATES[place % len(TEMPLATES)]) for place in range(count)])


def _procedure(dice: random.Random, name: str, template: str) -> dict[str, Any]:
    made: dict[str, Any] = {"id": name, "agent": dice.choice(("*", "*", "pay*", "clerk", "pay?desk"))}
    made["severity"] = dice.choice(("high", "medium", "low"))
    made[template] = _body(dice, template)
    if template in ("precedence", "response", "succession", "not_after") and dice.random() < 0.4:
        made["within"] = dice.randint(1, 4)
    if template in ("response", "not_after") and dice.random() < 0.6:
        made["unless"] = dice.choice((_activity(dice), {"action": ["pay", "send"]}))
    alike = template not in ("absence", "existence", "exactly", "at_least", "first", "last")
    return made | ({"per": "target"} if alike and dice.random() < 0.5 else {})


def _body(dice: random.Random, template: str) -> Any:
    keys = {"precedence": ("first", "then"), "succession": ("first", "then"), "response": ("when", "then")}
    if template == "not_after":
        return {"after": _activity(dice), "never": _activity(dice)}
    if template == "not_together":
        return [_activity(dice), dice.choice((_activity(dice), {"tool": "*"}))]
    if template in keys:
        return {key: _activity(dice) for key in keys[template]}
    if template in ("exactly", "at_least", "at_most"):
        return {"times": dice.randint(0, 3), "of": _activity(dice)}
    return _activity(dice)


def _activity(dice: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {"tool": dice.choice((*GLOBS, ["charge", "*mail"])), "outcome": dice.choice(WORDS)}
    if dice.random() < 0.2:
        made["action"] = dice.choice(("pay", ["send", "read"]))
    if dice.random() < 0.2:
        made["effect"] = dice.choice(("write", ["read", "unknown"]))
    return made
