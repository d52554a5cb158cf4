"""What ran steadily has gone silent, while others go on.

## What it finds
A tool that is not called any more while its agent runs, an agent that does not run any more while others of its service
do, or a service while others of its environment do. Time is counted in the quarters of an hour in which those others
ran: at night, or where nothing arrives at all, nobody is silent. The silence must be so long that by chance, at rates
that differ from day to day as they did in the 28 days before, at most one is found in four weeks among all that are
watched; and half as long again as the longest of those days. What is younger than 14 days, or seldom or unsteady, is
not watched.

## Why it matters
What does not run has no errors, no latency and no wrong claims: every other report shows it as fine.

## Example
`send_receipt` is called in two of three runs for months. After a change of the prompt it is never called again, and the
agent goes on telling its users that the receipt is on its way.

## Cure
Look at what changed at the time of its last run. Where it was taken out of service, there is nothing to do: after 28
days it is no longer missed.
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, Stretch, call

BOTH = Case("both", (call(0, "search", "success", effect="read"), call(1, "notify", "success")))
ONE = Case("one", (call(0, "search", "success", effect="read"),))
OFFICE = tuple(Stretch(ONE, day * 24 - 362, day * 24 - 354, 0.25, agent="day shift") for day in range(15))

RULE = Rule(
    id="OC304",
    title="What ran steadily has gone silent",
    doc=__doc__,
    scope="fleet",
    query="fleet/gone_silent",
    params={"false_a_week": 0.25},
    severities=("medium",),
    fires=(
        Case("a tool", over_time=(Stretch(BOTH, -480, -60, 2), Stretch(ONE, -58, -2, 2))),
        Case("an agent", over_time=(Stretch(ONE, -480, -60, 2, agent="other"), Stretch(ONE, -480, -2, 2))),
        Case("a service", over_time=(Stretch(ONE, -480, -60, 2, service="desk"), Stretch(ONE, -480, -2, 2))),
        Case(
            "a tool that is not called in each run",
            over_time=(Stretch(BOTH, -480, -120, 4), Stretch(ONE, -478, -2, 2)),
        ),
    ),
    quiet=(
        Case("nothing arrives any more", over_time=(Stretch(BOTH, -480, -60, 2),)),
        Case("it goes on", over_time=(Stretch(BOTH, -480, -2, 2),)),
        Case("it is young", over_time=(Stretch(BOTH, -300, -60, 2), Stretch(ONE, -480, -2, 2))),
        Case("it was seldom called", over_time=(Stretch(BOTH, -480, -60, 12), Stretch(ONE, -480, -2, 2))),
        Case("not yet for long", over_time=(Stretch(BOTH, -480, -8, 2), Stretch(ONE, -6, -2, 2))),
        Case("it rests at night", over_time=(*OFFICE, Stretch(ONE, -362, -1, 0.25))),
        Case(
            "it comes in bursts",
            over_time=(
                Stretch(BOTH, -480, -400, 1),
                Stretch(BOTH, -320, -290, 1),
                Stretch(BOTH, -110, -60, 1),
                Stretch(ONE, -480, -2, 2),
            ),
        ),
        Case(
            "it came back",
            over_time=(Stretch(BOTH, -480, -120, 2), Stretch(ONE, -480, -2, 2), Stretch(BOTH, -4, -2, 2)),
        ),
    ),
)
