"""A call failed, and nobody noticed.

## What it finds
A call whose evidence shows a failure, or a write that touched nothing, that no later call mended, and that the agent
does not mention. Where its span is marked as an error, severity is one step lower: whoever counts error spans sees it.
A failure that fits OC202, OC203, OC204, OC207 or OC208 is reported there, and only there.

## Why it matters
The answer does not show it, and where the span is not marked, dashboards that count error spans do not either.

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
    title="A call failed and nobody noticed",
    doc=__doc__,
    query="detect/unnoticed",
    fires=(
        Case("a failed look-up is passed over", (call(0, "search", "failure", effect="read"),), claimed=Outcome.NONE),
        Case(
            "the claim is about something else",
            (call(0, "send", "failure", target="a1"), call(1, "create", "success", target="b2")),
            (claim("success", 1),),
        ),
        Case("the tool says so, the agent does not", (call(0, "send", "failure", claimed="failure"),)),
        Case("its span is red", (call(0, "send", "failure", claimed="failure"),), red=(0,)),
        Case("nothing is written, nothing claimed", (call(0, "update", "empty"),), claimed=Outcome.NONE),
    ),
    quiet=(
        Case("the agent reports it", (call(0, "send", "failure"),), (claim("failure", 0),), red=(0,)),
        Case("a retry succeeds", (call(0, "send", "failure"), call(1, "send", "success"))),
        Case("a claim is accused of it", (call(0, "send", "failure"),), (claim("success", 0),)),
    ),
)
