"""A span is marked as fine, and its call failed.

## What it finds
A tool span whose status is `Ok` while the evidence about its call shows a failure. Severity is low where the agent
noticed all the same, or where the call was to change nothing. A status of `Unset` says nothing, and is not found.

## Why it matters
`Ok` is the last word in OpenTelemetry: no exporter and no dashboard sets it to an error any more. Whoever counts error
spans, or samples traces by them, never sees this call.

## Example
An instrumentor sets `Ok` on every span whose function returned; the tool returned `{"success": false}`.

## Cure
Leave the status of a tool span unset unless somebody has looked at the result, or let the tool raise. Many
instrumentors have an option for it.
"""

from __future__ import annotations

from overclaim.outcome.model import Grade
from overclaim_detectors.rule import Case, Rule, call, claim

RULE = Rule(
    id="OC105",
    title="A span is marked as fine, and its call failed",
    doc=__doc__,
    query="detect/stamped_ok",
    severities=("medium", "low"),
    fires=(
        Case("nobody noticed", (call(0, "create", "failure"),), ok=(0,)),
        Case("the agent reports it", (call(0, "create", "failure"),), (claim("failure", 0),), ok=(0,)),
        Case("a read", (call(0, "search", "failure", effect="read"),), ok=(0,)),
        Case("the tool itself says that it failed", (call(0, "send", "failure", claimed="failure"),), ok=(0,)),
    ),
    quiet=(
        Case("no status", (call(0, "create", "failure"),)),
        Case("marked as an error", (call(0, "create", "failure"),), red=(0,)),
        Case("nothing failed", (call(0, "create", "success"),), ok=(0,)),
        Case("only suspected", (call(0, "create", "failure", grade=Grade.SUSPECT),), ok=(0,)),
    ),
)
