"""Success is claimed, but the last outcome of the operation is a failure.

## What it finds
A claim of success about an operation whose last outcome is a failure that no later call mended, or whose identifiers or
amounts disagree with the calls it is about.

## Why it matters
Whoever reads the answer believes it. An error on the way is normal, since agents recover; an error at the end that is
reported as success is not.

## Example
`POST /v1/payment_intents` answers 400 `invalid_integer`, no other attempt follows, and the agent says "the endpoint is
confirmed working".

## Cure
Give the agent the failure in a form it cannot overlook (raise, or return an error the framework marks as one), and
check the answer before it leaves with `overclaim.check(answer)`.
"""

from __future__ import annotations

from overclaim.outcome.lexicon import looks
from overclaim_detectors.rule import Case, Rule, call, claim

RULE = Rule(
    id="OC101",
    title="Success claimed, but the last outcome of the operation is a failure",
    doc=__doc__,
    query="judge/accusations",
    severities=("high", "medium"),
    params={"looks": sorted(looks())},
    fires=(
        Case("the only attempt fails", (call(0, "create", "failure"),), (claim("success", 0),)),
        Case(
            "it worked once and failed at the end",
            (call(0, "create", "success"), call(1, "create", "failure")),
            (claim("success", 0, 1),),
        ),
        Case("the amount is another one", (call(0, "create", "success"),), (claim("success", 0, mismatch="45"),)),
    ),
    quiet=(
        Case(
            "a retry succeeds",
            (call(0, "create", "failure"), call(1, "create", "success")),
            (claim("success", 0, 1),),
        ),
        Case("the agent reports the failure", (call(0, "create", "failure"),), (claim("failure", 0),)),
        Case("spans are missing", (call(0, "create", "failure"),), (claim("success", 0),), complete=False),
    ),
)
