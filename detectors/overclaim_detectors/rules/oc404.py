"""A step was taken more or fewer times than a procedure says.

## What it finds
A declared `exactly`, `at_least` or `at_most` that the calls of a run do not keep. Calls that are known to have failed
do not count, so a retry is no second time. Too few accuses only runs of which every call was seen.

## Why it matters
Twice charged is as wrong as not charged, and each of the two calls is green.

## Example
`at_most: {times: 1, of: charge_card}`, `per: target`, and the same order is charged twice.

## Cure
Give the tool an idempotency key. If the second call is another thing, name what it is done to (`per: target`).
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, call

ONCE = {"id": "once", "exactly": {"times": 1, "of": "charge"}}
PER_ORDER = {"id": "per-order", "at_most": {"times": 1, "of": "charge"}, "per": "target"}
TWICE = {"id": "twice", "at_least": {"times": 2, "of": "check"}}

RULE = Rule(
    id="OC404",
    title="A step was taken more or fewer times than a procedure says",
    doc=__doc__,
    query="procedures/findings",
    by_value=True,
    fires=(
        Case("twice", (call(0, "charge", "success"), call(1, "charge", "success")), procedures=(ONCE,)),
        Case("not at all", (call(0, "search", "success"),), procedures=(ONCE,)),
        Case("only tried", (call(0, "charge", "failure"),), procedures=(ONCE,)),
        Case(
            "twice for one order",
            (call(0, "charge", "success", target="a1"), call(1, "charge", "success", target="a1")),
            procedures=(PER_ORDER,),
        ),
        Case("once instead of twice", (call(0, "check", "success"),), procedures=(TWICE,)),
        Case(
            "twice, where spans are missing",
            (call(0, "charge", "success"), call(1, "charge", "success")),
            complete=False,
            procedures=(ONCE,),
        ),
    ),
    quiet=(
        Case("once", (call(0, "charge", "success"),), procedures=(ONCE,)),
        Case("a retry", (call(0, "charge", "failure"), call(1, "charge", "success")), procedures=(ONCE,)),
        Case("spans are missing", (call(0, "search", "success"),), complete=False, procedures=(ONCE,)),
        Case(
            "two orders",
            (call(0, "charge", "success", target="a1"), call(1, "charge", "success", target="b2")),
            procedures=(PER_ORDER,),
        ),
        Case("more than enough", tuple(call(place, "check", "success") for place in range(3)), procedures=(TWICE,)),
    ),
)
