"""A part was returned, and the agent speaks of all of it.

## What it finds
A claim about all there are ("I checked all orders"), about a look whose result says that it is not the whole: it is
marked as truncated, says that there is more (`has_more`), leads to a next page (`next_cursor`), or its text breaks off
("... 120 more lines"). Quiet where the same tool was called again after that, and where the agent tells of a part.

## Why it matters
The call went well and the answer is true of what was returned. What was never read may say otherwise, and nobody knows
that there is any.

## Example
`list_invoices` returns 100 of them and `"has_more": true`; the agent says "I went through all invoices, and none is
overdue".

## Cure
Let the tool return how many there are, and tell the agent to fetch the rest or to say which part it saw.
"""

from __future__ import annotations

from overclaim.outcome.model import Outcome
from overclaim_detectors.rule import Case, Rule, call, claim

PART = call(0, "list", "success", effect="read", target="invoices", rule="result.truncated", value="hasmore")

RULE = Rule(
    id="OC205",
    title="A part was returned, and the agent speaks of all of it",
    doc=__doc__,
    query="detect/truncated",
    severities=("low",),
    fires=(
        Case("there is more", (PART,), (claim("success", 0, action="verify", everything=True),)),
        Case(
            "something else is done after it",
            (PART, call(1, "send", "success")),
            (claim("success", 0, action="read", everything=True), claim("success", 1, action="send")),
        ),
        Case(
            "the second page is not the last",
            (
                PART,
                call(1, "list", "success", effect="read", target="page 2", rule="result.truncated", value="hasmore"),
            ),
            (claim("success", 0, 1, action="verify", everything=True),),
        ),
        Case(
            "nobody knows what it changes",
            (call(0, "query", "success", effect="unknown", rule="result.truncated", value="text"),),
            (claim("success", 0, action="search", everything=True),),
        ),
    ),
    quiet=(
        Case("it speaks of no whole", (PART,), (claim("success", 0, action="verify"),)),
        Case(
            "the next page is fetched",
            (PART, call(1, "list", "success", effect="read", target="page 2")),
            (claim("success", 0, 1, action="verify", everything=True),),
        ),
        Case(
            "all of something else",
            (PART, call(1, "send", "success")),
            (claim("success", 0, action="read"), claim("success", 1, action="send", everything=True)),
        ),
        Case(
            "the agent tells of a part",
            (PART,),
            (claim("success", 0, action="verify", everything=True), claim("partial", 0)),
            Outcome.PARTIAL,
        ),
        Case(
            "what a change returned",
            (call(0, "update", "success", rule="result.truncated", value="text"),),
            (claim("success", 0, action="update", everything=True),),
        ),
        Case(
            "a claim is accused of it",
            (
                call(0, "list", "success", effect="read", rule="result.truncated", value="hasmore"),
                call(1, "list", "failure", effect="read"),
            ),
            (claim("success", 0, 1, action="verify", everything=True),),
        ),
        Case("spans are missing", (PART,), (claim("success", 0, action="verify", everything=True),), complete=False),
    ),
)
