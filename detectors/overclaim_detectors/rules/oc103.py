"""Completion is claimed, but the operation is still pending.

## What it finds
A claim of success about an operation that was only accepted (202, "queued", "pending") and that no later call
completed.

## Why it matters
What is accepted may still fail, and then nobody looks.

## Example
The refund answers `"status": "pending"`; the agent says "your refund has been paid out".

## Cure
Let the agent say what is true ("requested", "on its way"), or poll until the operation is done.
"""

from __future__ import annotations

from overclaim.outcome.lexicon import looks
from overclaim_detectors.rule import Case, Rule, call, claim

RULE = Rule(
    id="OC103",
    title="Completion claimed, but the operation is still pending",
    doc=__doc__,
    query="judge/accusations",
    severities=("medium",),
    params={"looks": sorted(looks())},
    fires=(
        Case("accepted and never looked at again", (call(0, "refund", "pending"),), (claim("success", 0),)),
        Case(
            "asked twice, accepted twice",
            (call(0, "refund", "pending"), call(1, "refund", "pending")),
            (claim("success", 0, 1),),
        ),
        Case(
            "something else was completed",
            (call(0, "refund", "pending", target="a1"), call(1, "refund", "success", target="b2")),
            (claim("success", 0),),
        ),
    ),
    quiet=(
        Case(
            "completed by a later call",
            (call(0, "refund", "pending"), call(1, "refund", "success")),
            (claim("success", 0, 1),),
        ),
        Case("the agent says it is on its way", (call(0, "refund", "pending"),), (claim("partial", 0),)),
        Case("spans are missing", (call(0, "refund", "pending"),), (claim("success", 0),), complete=False),
    ),
)
