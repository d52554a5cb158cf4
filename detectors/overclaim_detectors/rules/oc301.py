"""The agent goes round in circles.

## What it finds
Five calls or more of one operation in a row that all ended alike and not well (failed, found nothing, still wait), or
two operations by turns, four times each, of which one never ends well and neither changes anything. Quiet where it came
to a good end after that: waiting for a job is no circle. Different targets are different operations.

## Why it matters
Each turn costs money and time and cannot end otherwise; the run mostly ends at a limit of steps, not with an answer.

## Example
`page_down` fails seven times in a row, since the page has an end.

## Cure
Let the tool say what to do instead ("this is the last page"), and stop the agent after a few equal answers.
"""

from __future__ import annotations

from overclaim.outcome.model import Call
from overclaim_detectors.rule import Case, Rule, call, claim

FAILED = tuple(call(place, "page", "failure", effect="read", target="a1") for place in range(5))
FIND, LIST = ("find", "empty", "read", ""), ("list", "empty", "read", "a1")
READ, EDIT, WRONG = (
    ("read", "success", "read", "a1"),
    ("edit", "success", "write", "a1"),
    ("edit", "failure", "write", "b2"),
)
TEST = ("test", "failure", "read", "t1")


def by_turns(first: int, *two: tuple[str, str, str, str]) -> tuple[Call, ...]:
    """Four calls of each of two (tool, outcome, effect, target), from the index `first` on."""
    made = ((first + place, two[place % 2]) for place in range(8))
    return tuple(call(place, tool, end, effect=effect, target=target) for place, (tool, end, effect, target) in made)


RULE = Rule(
    id="OC301",
    title="The agent goes round in circles",
    doc=__doc__,
    query="detect/loops",
    severities=("low",),
    fires=(
        Case("five failures", FAILED),
        Case("it is reported", FAILED, (claim("failure", 0),)),
        Case("five waits", tuple(call(place, "poll", "pending", effect="read") for place in range(6))),
        Case("by turns", by_turns(0, READ, WRONG)),
        Case("by turns, after something else", (call(0, "login", "success"), *by_turns(1, FIND, LIST))),
    ),
    quiet=(
        Case("four failures", FAILED[:4]),
        Case("at last it succeeds", (*FAILED, call(5, "page", "success", effect="read", target="a1"))),
        Case("five successes", tuple(call(place, "poll", "success", effect="read") for place in range(5))),
        Case(
            "of five things",
            tuple(call(place, "page", "failure", effect="read", target=f"p{place}") for place in range(5)),
        ),
        Case("changed and tried", by_turns(0, EDIT, TEST)),
        Case("it ends in another way", (*FAILED[:4], call(4, "page", "empty", effect="read", target="a1"))),
    ),
)
