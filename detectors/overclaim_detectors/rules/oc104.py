"""A tool told its agent that all went well, and the evidence says that it failed.

## What it finds
A call that returned normally although its result, its status code or something below it shows a failure. Severity is
low where the agent noticed all the same: it tried again with success, or told its user.

## Why it matters
The next agent may not notice. Such a tool is where contradicted claims begin, and span status does not show it.

## Example
The tool returns `{"error": "card_declined", "status": 402}` as an ordinary value; its span is green.

## Cure
Raise, or set the framework's error mark (`isError`, `status="error"`), when the thing the tool stands for failed.
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, call, claim

RULE = Rule(
    id="OC104",
    title="A tool told its agent that all went well, and the evidence says that it failed",
    doc=__doc__,
    query="detect/tool_claims",
    fires=(
        Case("nobody noticed", (call(0, "create", "failure"),)),
        Case("the agent reports it", (call(0, "create", "failure"),), (claim("failure", 0),)),
        Case("a retry succeeds", (call(0, "create", "failure"), call(1, "create", "success"))),
    ),
    quiet=(
        Case("the tool says so itself", (call(0, "create", "failure", claimed="failure"),)),
        Case("nothing failed", (call(0, "create", "success"),)),
        Case("still pending", (call(0, "create", "pending"),)),
    ),
)
