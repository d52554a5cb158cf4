"""A tool fails in a way in which it never failed before.

## What it finds
The first run in which a call of a tool shows a kind of error (the type of an exception, the status of an answer, or
what else its result says), after seven days and fifty runs with that tool without it. It is told for 28 days, once,
with that run, whoever noticed. Where a tool often fails in new ways, nothing is told.

## Why it matters
A new kind of error is the first sign of a change elsewhere: a new version of a service, a right that was taken away, a
limit that is reached. Agents were never tried with it.

## Example
`create_order` used to fail with `HTTP 409` now and then; since noon there is `HTTP 403`.

## Cure
Look at the run. Let the tool tell the agent what it may do about such an error.
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, Stretch, call


def failing(value: str, rule: str = "http.status_4xx") -> Case:
    """A run whose only call fails."""
    return Case("failing", (call(0, "order", "failure", value=value, rule=rule),))


FINE = Case("fine", (call(0, "order", "success"),))
USUAL = Stretch(FINE, -240, -1, 4)

RULE = Rule(
    id="OC306",
    title="A tool fails in a way in which it never failed before",
    doc=__doc__,
    scope="fleet",
    query="fleet/first_seen",
    params={"kind": "error", "of": "tool"},
    severities=("low",),
    fires=(
        Case("the first failure of all", over_time=(USUAL, Stretch(failing("403"), -3, -3))),
        Case(
            "another status", over_time=(USUAL, Stretch(failing("409"), -239, -9, 23), Stretch(failing("403"), -3, -3))
        ),
        Case("it says so in its result", over_time=(USUAL, Stretch(failing("", "flag.success_false"), -3, -1))),
    ),
    quiet=(
        Case("a known one", over_time=(USUAL, Stretch(failing("409"), -239, -1, 23))),
        Case("the tool is new", over_time=(Stretch(FINE, -160, -1), Stretch(failing("403"), -3, -3))),
        Case("it was seldom called", over_time=(Stretch(FINE, -240, -1, 12), Stretch(failing("403"), -3, -3))),
        Case(
            "it fails in ever new ways",
            over_time=(
                Stretch(FINE, -400, -1, 4),
                *(Stretch(failing(str(410 + number)), -200 + 40 * number, -200 + 40 * number) for number in range(4)),
                Stretch(failing("403"), -3, -3),
            ),
        ),
        Case(
            "which part of it failed is no kind of error",
            over_time=(
                USUAL,
                Stretch(failing("1/50", "batch.item_failed"), -238, -238),
                Stretch(failing("2/50", "batch.item_failed"), -3, -3),
            ),
        ),
    ),
)
