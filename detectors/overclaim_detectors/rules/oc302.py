"""A run ended without an answer, after a call that did not end well.

## What it finds
A run without a final message whose last call failed or still waits, of an agent that gave a message in nine of ten of
its last runs, of which there are at least twenty. Nothing else of the run is missing: its end arrived. A run that ends
with a hand-off is left out.

## Why it matters
The user waits for an answer that does not come. A limit of steps, a crash of the agent and a user who gave up all look
like this, and none of them is an error of a tool.

## Example
The agent calls `submit_order`, which answers 503, and the run ends there.

## Cure
Let the program around the agent answer for it where it stops: say what was done, and what was not.
"""

from __future__ import annotations

from overclaim.outcome.model import Call, Grade, Outcome
from overclaim_detectors.rule import Case, Rule, call, claim

FAILED = call(0, "submit", "failure")
USUAL = Case("before", (call(0, "search", "success", effect="read"),), (claim("success", 0),))
BEFORE = ((20, USUAL),)


def unanswered(
    name: str, *calls: Call, earlier: tuple[tuple[int, Case], ...] = BEFORE, missing: tuple[str, ...] = ()
) -> Case:
    """A run that ends with its last call. missing: what else is not there."""
    gaps = ("no_final_message", *missing)
    return Case(name, calls, claimed=Outcome.UNREADABLE, complete=False, earlier=earlier, gaps=gaps)


RULE = Rule(
    id="OC302",
    title="A run ended without an answer, after a call that did not end well",
    doc=__doc__,
    query="detect/abandoned",
    params={"history": 20_000},
    severities=("medium",),
    fires=(
        unanswered("it failed", FAILED),
        unanswered("it waits", call(0, "submit", "pending")),
        unanswered(
            "now and then there was none",
            call(0, "search", "success"),
            call(1, "submit", "failure"),
            earlier=((18, USUAL), (2, unanswered("before", FAILED, earlier=()))),
        ),
    ),
    quiet=(
        unanswered("it is new", FAILED, earlier=((19, USUAL),)),
        unanswered("it hardly ever gives one", FAILED, earlier=((20, unanswered("before", FAILED, earlier=())),)),
        unanswered("it succeeded", call(0, "submit", "success")),
        unanswered("it handed over", call(0, "delegate", "pending")),
        unanswered("only suspected", call(0, "submit", "failure", grade=Grade.SUSPECT)),
        unanswered("more is missing", FAILED, missing=("spans_missing",)),
        Case("an answer was given", (FAILED,), (claim("failure", 0),), Outcome.FAILURE, earlier=BEFORE),
    ),
)
