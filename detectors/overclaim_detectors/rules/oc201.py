"""A call failed without an error on its span, and nobody noticed.

## What it finds
A call whose evidence shows a failure while its span is not marked as an error, that no later call mended, and that the
agent does not mention.

## Why it matters
Dashboards that count error spans show nothing, and neither does the answer.

## Example
A search returns `{"error": "index unavailable"}`; the agent answers from memory and says nothing about it.

## Cure
Let the tool raise or mark its error; tell the agent to report what it could not do.
"""

from __future__ import annotations

from overclaim.outcome.model import Outcome
from overclaim_detectors.rule import Case, Rule, call, claim

RULE = Rule(
    id="OC201",
    title="A call failed without an error on its span, and nobody noticed",
    doc=__doc__,
    query="detect/silent_failures",
    fires=(
        Case("a failed look-up is passed over", (call(0, "search", "failure", effect="read"),), claimed=Outcome.NONE),
        Case(
            "the claim is about something else",
            (call(0, "send", "failure", target="a1"), call(1, "create", "success", target="b2")),
            (claim("success", 1),),
        ),
        Case("the tool says so, the agent does not", (call(0, "send", "failure", claimed="failure"),)),
    ),
    quiet=(
        Case("its span is red", (call(0, "send", "failure"),), red=(0,)),
        Case("a retry succeeds", (call(0, "send", "failure"), call(1, "send", "success"))),
        Case("a claim is accused of it", (call(0, "send", "failure"),), (claim("success", 0),)),
    ),
)
