"""A step that a procedure forbids was taken.

## What it finds
A declared `absence` or `not_together` that the calls of a run break: a call that must never be made, or both of two
calls that rule each other out. A call that is known to have failed does not count, unless the procedure says so.

## Why it matters
The agent did what it was not allowed to do, whatever it says about it.

## Example
`absence: "drop_*"`, and the agent calls `drop_table`.

## Cure
Take the tool, or the right to use it, away from the agent: a rule in its prompt does not hold.
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, call

NO_DROP = {"id": "no-drop", "absence": "drop_*"}
ONE_OF = {"id": "one-of", "not_together": ["approve", "reject"]}
PER_CASE = {**ONE_OF, "per": "target"}

RULE = Rule(
    id="OC403",
    title="A step that a procedure forbids was taken",
    doc=__doc__,
    query="procedures/findings",
    by_value=True,
    fires=(
        Case("taken", (call(0, "drop_table", "success"),), procedures=(NO_DROP,)),
        Case(
            "taken, where spans are missing", (call(0, "drop_table", "success"),), complete=False, procedures=(NO_DROP,)
        ),
        Case(
            "tried, where trying is forbidden",
            (call(0, "drop_table", "failure"),),
            procedures=({"id": "no-drop", "absence": {"tool": "drop_*", "outcome": "any"}},),
        ),
        Case("both", (call(0, "reject", "success"), call(1, "approve", "success")), procedures=(ONE_OF,)),
        Case(
            "both of one case",
            (call(0, "approve", "success", target="a1"), call(1, "reject", "success", target="a1")),
            procedures=(PER_CASE,),
        ),
    ),
    quiet=(
        Case("another tool", (call(0, "create_table", "success"),), procedures=(NO_DROP,)),
        Case("refused", (call(0, "drop_table", "failure"),), procedures=(NO_DROP,)),
        Case("one of the two", (call(0, "approve", "success"), call(1, "approve", "success")), procedures=(ONE_OF,)),
        Case(
            "of two cases",
            (call(0, "approve", "success", target="a1"), call(1, "reject", "success", target="b2")),
            procedures=(PER_CASE,),
        ),
    ),
)
