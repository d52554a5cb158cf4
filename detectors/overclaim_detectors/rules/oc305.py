"""An agent calls a tool that it never called before.

## What it finds
The first run in which an agent calls a tool, after seven days and fifty runs of that agent without it. It is told for
28 days, once, with that run. Where an agent often gets new tools, nothing is told.

## Why it matters
A new tool is a new way to do harm, and none of its results was ever checked. Where nobody gave it to the agent,
somebody else did: a server of tools that changed its list, or a prompt that talks an agent into more than it should do.

## Example
An agent that looked up orders for months calls `delete_customer`.

## Cure
If the tool is meant, say what its results mean (expectations). If not, take it out of the agent's list.
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, Stretch, call

USUAL = Case("usual", (call(0, "search", "success", effect="read"),))
NEW = Case("new", (call(0, "search", "success", effect="read"), call(1, "delete", "success")))


def another(number: int) -> Case:
    """A run with one of many tools."""
    return Case("another", (call(0, f"ask {number}", "success", effect="read"),))


RULE = Rule(
    id="OC305",
    title="An agent calls a tool that it never called before",
    doc=__doc__,
    scope="fleet",
    query="fleet/first_seen",
    params={"kind": "tool", "of": "run"},
    severities=("low",),
    fires=(
        Case("after ten days", over_time=(Stretch(USUAL, -240, -1, 4), Stretch(NEW, -3, -3))),
        Case("and from then on", over_time=(Stretch(USUAL, -240, -1, 4), Stretch(NEW, -20, -1))),
        Case(
            "other agents have it",
            over_time=(Stretch(USUAL, -240, -1, 4), Stretch(NEW, -240, -1, 4, agent="boss"), Stretch(NEW, -3, -3)),
        ),
        Case(
            "its runs fail",
            over_time=(Stretch(USUAL, -240, -1, 4), Stretch(Case("x", (call(0, "delete", "failure"),)), -3, -3)),
        ),
    ),
    quiet=(
        Case("the agent is new", over_time=(Stretch(USUAL, -160, -1, 1), Stretch(NEW, -3, -3))),
        Case("it has run too seldom", over_time=(Stretch(USUAL, -240, -1, 12), Stretch(NEW, -3, -3))),
        Case(
            "it was called before",
            over_time=(Stretch(USUAL, -240, -1, 4), Stretch(NEW, -238, -238), Stretch(NEW, -3, -3)),
        ),
        Case(
            "it gets new ones all the time",
            over_time=(
                Stretch(USUAL, -400, -1, 4),
                *(Stretch(another(number), -200 + 40 * number, -200 + 40 * number) for number in range(4)),
                Stretch(NEW, -3, -3),
            ),
        ),
        Case("long ago", over_time=(Stretch(USUAL, -1000, -1, 8), Stretch(NEW, -700, -700))),
    ),
)
