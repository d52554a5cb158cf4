"""Calls came in an order that a procedure forbids.

## What it finds
A declared `precedence`, `succession`, `not_after`, `first` or `last` that the calls of a run break: a step without the
step that must come before it, a step after one that rules it out, a run that begins or ends with another call. Calls
that are known to have failed do not count, unless the procedure says so. What rests on a call that is not there accuses
only runs of which every call was seen.

## Why it matters
Each call may be green and the answer true, and the run is wrong all the same: money captured that nobody authorized.

## Example
`precedence: {first: authorize_payment, then: capture_payment}`, and `capture_payment` runs after the authorization was
declined.

## Cure
Look at the first call of the finding. Let the tool refuse to run out of order, or tell the agent the order; if the
order is right after all, correct the procedure.
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, call

AUTHORIZED = {"id": "authorized", "precedence": {"first": "authorize", "then": "capture"}}
PER_ORDER = {**AUTHORIZED, "per": "target"}
NO_RECEIPT = {"id": "no-receipt", "not_after": {"after": {"tool": "charge", "outcome": "failure"}, "never": "receipt"}}
LOGIN = {"id": "login", "first": "login"}

RULE = Rule(
    id="OC401",
    title="Calls came in an order that a procedure forbids",
    doc=__doc__,
    query="procedures/findings",
    by_value=True,
    fires=(
        Case(
            "the step before failed",
            (call(0, "authorize", "failure"), call(1, "capture", "success")),
            procedures=(AUTHORIZED,),
        ),
        Case(
            "the step before came later",
            (call(0, "capture", "success"), call(1, "authorize", "success")),
            procedures=(AUTHORIZED,),
        ),
        Case(
            "the step before was for something else",
            (call(0, "authorize", "success", target="a1"), call(1, "capture", "success", target="b2")),
            procedures=(PER_ORDER,),
        ),
        Case(
            "a receipt for a failed charge",
            (call(0, "charge", "failure"), call(1, "receipt", "success")),
            procedures=(NO_RECEIPT,),
        ),
        Case(
            "it is also judged where spans are missing",
            (call(0, "pay", "success"), call(1, "refund", "success")),
            complete=False,
            procedures=({"id": "never", "not_after": {"after": "pay", "never": "refund"}},),
        ),
        Case(
            "it begins with something else",
            (call(0, "search", "success"), call(1, "login", "success")),
            procedures=(LOGIN,),
        ),
    ),
    quiet=(
        Case("in order", (call(0, "authorize", "success"), call(1, "capture", "success")), procedures=(AUTHORIZED,)),
        Case("the step itself failed", (call(0, "capture", "failure"),), procedures=(AUTHORIZED,)),
        Case("spans are missing", (call(0, "capture", "success"),), complete=False, procedures=(AUTHORIZED,)),
        Case(
            "of which order is not known",
            (call(0, "authorize", "success"), call(1, "capture", "success", target="a1")),
            procedures=(PER_ORDER,),
        ),
        Case(
            "the charge succeeds at last",
            (call(0, "charge", "failure"), call(1, "charge", "success"), call(2, "receipt", "success")),
            procedures=(NO_RECEIPT,),
        ),
        Case(
            "a failed call before it", (call(0, "search", "failure"), call(1, "login", "success")), procedures=(LOGIN,)
        ),
    ),
)
