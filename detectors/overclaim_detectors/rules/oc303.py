"""Another agent failed, and the one that asked it tells of success.

## What it finds
A call during which another agent ran and did not succeed, while the agent that made the call claims success and reports
nothing. The other agent says that it failed, wholly or in part, or its claims are contradicted by its own calls. Its
spans are in the same trace, as a run of its own: it is a service, or stands behind a queue that is waited for. Severity
is high where it reports failure and the claim is about the very call.

Quiet where the call itself shows the failure, which OC101 and OC201 speak of, and where the work was done after that:
by another agent that succeeded, or by a change that the agent made itself. Agents within one process are one run, and
judged as one. Which call it was is told by time, so clocks of services that differ hide it.

## Why it matters
With each hand-off a failure loses words. The last agent in the line tells the user, and knows the least.

## Example
The billing agent answers "I could not reverse the charge: the period is closed". The front agent says "Billing has
taken care of your refund".

## Cure
Let agents answer each other with a status beside the words, and let the tool that asks fail where it says failure.
"""

from __future__ import annotations

from overclaim.outcome.model import Outcome
from overclaim_detectors.rule import Case, Rule, call, claim

REFUSED = Case("inner", (), (claim("failure", action="refund"),), claimed=Outcome.FAILURE)
DONE = Case("inner", (call(0, "refund", "success"),), (claim("success", 0, action="refund"),))
ASKED = call(0, "ask", "success", effect="unknown", target="billing")
AGAIN = call(1, "ask", "success", effect="unknown", target="support")

RULE = Rule(
    id="OC303",
    title="Another agent failed, and the one that asked it tells of success",
    doc=__doc__,
    query="detect/handoffs",
    severities=("high", "medium"),
    fires=(
        Case("it says so", (ASKED,), (claim("success", 0, action="refund"),), within=((0, REFUSED),)),
        Case(
            "in part",
            (ASKED,),
            within=((0, Case("inner", (), (claim("partial", action="refund"),), claimed=Outcome.PARTIAL)),),
        ),
        Case(
            "its claim is contradicted",
            (ASKED,),
            within=((0, Case("inner", (call(0, "refund", "failure"),), (claim("success", 0),))),),
        ),
        Case("a change before it", (call(0, "update", "success"), AGAIN), within=((1, REFUSED),)),
        Case("another one failed as well", (ASKED, AGAIN), within=((0, REFUSED), (1, REFUSED))),
    ),
    quiet=(
        Case("it succeeded", (ASKED,), (claim("success", 0, action="refund"),), within=((0, DONE),)),
        Case(
            "the agent says so, too", (ASKED,), (claim("failure", 0),), claimed=Outcome.FAILURE, within=((0, REFUSED),)
        ),
        Case(
            "it reports a part", (ASKED,), (claim("success", action="send"), claim("partial")), within=((0, REFUSED),)
        ),
        Case("another one did it", (ASKED, AGAIN), within=((0, REFUSED), (1, DONE))),
        Case("the agent did it itself", (ASKED, call(1, "refund", "success")), within=((0, REFUSED),)),
        Case("its call shows it", (call(0, "ask", "failure", effect="unknown"),), within=((0, REFUSED),)),
        Case("spans are missing", (ASKED,), within=((0, REFUSED),), complete=False),
        Case("nothing is claimed", (ASKED,), claimed=Outcome.NONE, within=((0, REFUSED),)),
    ),
)
