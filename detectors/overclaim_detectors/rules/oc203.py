"""A request, query or process below a tool failed, and the tool returned as if all went well.

## What it finds
A call whose telling fact is on a child span (an HTTP request, a query, a process) that failed, while the tool returned
normally; no later call mended it and the agent does not mention it.

## Why it matters
This is the swallowed exception: neither the agent nor its user could know.

## Example
The tool catches the exception of a failed `POST /v1/refunds` and returns "ok".

## Cure
Do not catch what the tool cannot mend; where it must, return an error and not a value.
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, call, claim

CHILD = "00000000000000c1"

RULE = Rule(
    id="OC203",
    title="Something below a tool failed, and the tool returned as if all went well",
    doc=__doc__,
    query="detect/unnoticed",
    severities=("high", "medium"),
    fires=(
        Case("nobody noticed", (call(0, "refund", "failure", child=CHILD),)),
        Case(
            "the claim is about something else",
            (call(0, "refund", "failure", target="a1", child=CHILD), call(1, "send", "success", target="b2")),
            (claim("success", 1),),
        ),
        Case("a read as well", (call(0, "search", "failure", effect="read", child=CHILD),)),
    ),
    quiet=(
        Case("the tool passes it on", (call(0, "refund", "failure", child=CHILD, claimed="failure"),)),
        Case("the agent reports it", (call(0, "refund", "failure", child=CHILD),), (claim("failure", 0),)),
        Case("the fact is on the call itself", (call(0, "refund", "failure"),)),
    ),
)
