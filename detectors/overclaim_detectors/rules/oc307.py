"""A tool is called with an argument that it never got before.

## What it finds
The first run in which a call of a tool carries an argument of this name, after seven days and fifty runs with that tool
in which it had others. Only names are kept, never values, and only where spans carry arguments. It is told for 28 days,
once, with that run. Where a tool often gets new arguments, nothing is told.

## Why it matters
Either the tool has a new argument, or the model makes one up: many tools ignore what they do not know and answer as if
all went well.

## Example
`create_refund` always got `order` and `amount`; now it gets `reason`, which the tool drops.

## Cure
Let the tool refuse arguments that it does not know. If the argument is meant, there is nothing to do.
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, Stretch, call

REFUND = Case("refund", (call(0, "refund", "success"),))
USUAL = Stretch(REFUND, -240, -1, 4, arguments='{"order": "o-1", "amount": 5}')


def given(arguments: str, at: float = -3) -> Stretch:
    """One run with these arguments."""
    return Stretch(REFUND, at, at, arguments=arguments)


RULE = Rule(
    id="OC307",
    title="A tool is called with an argument that it never got before",
    doc=__doc__,
    scope="fleet",
    query="fleet/first_seen",
    params={"kind": "argument", "of": "argument"},
    severities=("low",),
    fires=(
        Case("one more", over_time=(USUAL, given('{"order": "o-1", "amount": 5, "reason": "late"}'))),
        Case("instead of another", over_time=(USUAL, given('{"order": "o-1", "sum": 5}'))),
        Case(
            "by another agent",
            over_time=(USUAL, Stretch(REFUND, -3, -3, agent="other", arguments='{"order": "o-1", "force": true}')),
        ),
    ),
    quiet=(
        Case("the same with other values", over_time=(USUAL, given('{"order": "o-2", "amount": 7}'))),
        Case("fewer", over_time=(USUAL, given('{"order": "o-2"}'))),
        Case(
            "arguments were not carried before",
            over_time=(
                Stretch(REFUND, -400, -101, 4),
                Stretch(REFUND, -100, -1, arguments='{"order": "o-1"}'),
                given('{"sum": 5}'),
            ),
        ),
        Case("what is within a value", over_time=(USUAL, given('{"order": {"id": "o-1"}, "amount": 5}'))),
        Case("what is no name", over_time=(USUAL, given('{"ann@example.com": 1}'))),
        Case(
            "it gets new ones all the time",
            over_time=(
                Stretch(REFUND, -400, -1, 4, arguments='{"order": "o-1"}'),
                *(given(f'{{"field_{number}": 1}}', -200 + 40 * number) for number in range(4)),
                given('{"sum": 5}'),
            ),
        ),
    ),
)
