"""A write touched nothing, and the agent claims success.

## What it finds
A call that should change something and changed nothing (0 rows, 0 files, an empty result), in a run whose agent claims
success, without a later call that mended it and without a word about it.

## Why it matters
The engine calls it a success, so nothing is red anywhere; the change the user asked for is not there.

## Example
`UPDATE orders SET ... WHERE id = 'A-17'` reports 0 rows; the agent says "all done".

## Cure
Let the tool compare the count with what was asked for, and fail where they differ.
"""

from __future__ import annotations

from overclaim.outcome.model import Outcome
from overclaim_detectors.rule import Case, Rule, call, claim

RULE = Rule(
    id="OC202",
    title="A write touched nothing, and the agent claims success",
    doc=__doc__,
    query="detect/unnoticed",
    severities=("high",),
    fires=(
        Case("no row changed", (call(0, "update", "empty"),)),
        Case(
            "one of two",
            (call(0, "update", "empty", target="a1"), call(1, "update", "success", target="b2")),
            (claim("success", 1),),
        ),
        Case(
            "tried twice",
            (call(0, "update", "empty"), call(1, "update", "empty")),
        ),
    ),
    quiet=(
        Case("a read that found nothing", (call(0, "search", "empty", effect="read"),)),
        Case("nothing is claimed", (call(0, "update", "empty"),), claimed=Outcome.NONE),
        Case("a second attempt changes it", (call(0, "update", "empty"), call(1, "update", "success"))),
    ),
)
