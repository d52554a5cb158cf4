"""No answer came in time, and nobody noticed.

## What it finds
A call that ended in a timeout, or whose request got no answer, that no later call mended and that the agent does not
mention. It is one finding with the others of OC207 where the same was tried three times.

## Why it matters
Nobody knows whether it was done: a payment may have gone through, and the next try would be a second one. Success must
not be told, and failure neither.

## Example
`POST /v1/charges` runs into the timeout of the client; the agent goes on with the next order.

## Cure
Look the outcome up before anything is told or tried again, and send an idempotency key with what must happen once.
"""

from __future__ import annotations

from overclaim.outcome.model import Outcome
from overclaim_detectors.rule import Case, Rule, call, claim

LATE = call(0, "charge", "failure", target="a1", claimed="failure", rule="exception.timeout", value="ReadTimeout")

RULE = Rule(
    id="OC208",
    title="No answer came in time, and nobody noticed",
    doc=__doc__,
    query="detect/unnoticed",
    severities=("medium", "low"),
    fires=(
        Case("an exception", (LATE,)),
        Case("an answer of a gateway", (call(0, "charge", "failure", rule="http.status_5xx", value="504"),)),
        Case(
            "a process",
            (call(0, "run", "failure", effect="read", rule="exit.timeout"),),
            claimed=Outcome.NONE,
            red=(0,),
        ),
        Case("something else succeeds", (LATE, call(1, "charge", "success", target="b2")), (claim("success", 1),)),
    ),
    quiet=(
        Case("the agent reports it", (LATE,), (claim("failure", 0),)),
        Case("a later try succeeds", (LATE, call(1, "charge", "success", target="a1"))),
        Case("an answer that says no", (call(0, "charge", "failure", rule="http.status_4xx", value="402"),)),
        Case("a claim is accused of it", (LATE,), (claim("success", 0),)),
        Case(
            "below a tool that says nothing of it",
            (call(0, "charge", "failure", child="00000000000000c1", rule="http.no_response"),),
        ),
    ),
)
