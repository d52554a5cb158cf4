"""Something is stated, and the search for it found nothing.

## What it finds
A claim that states something although each call it is about is a look that found nothing (0 rows, an empty list, "no
match"), and no other call of the run returned anything. What is stated is a thing no call was asked about, or a number.
Where it is only a number, which the user may have named, severity is low.

## Why it matters
The statement has no source. An empty result is where an agent is most tempted to fill in what it remembers.

## Example
`search_flights` returns `[]`; the agent says "Flight AF-12 leaves at 9:00".

## Cure
Tell the agent to say that nothing was found. Let the tool say so in words ("no flights on that day") rather than return
an empty list.
"""

from __future__ import annotations

from overclaim.outcome.model import Outcome
from overclaim_detectors.rule import Case, Rule, call, claim

NOTHING = call(0, "search", "empty", effect="read", target="paris", rule="rows.zero")

RULE = Rule(
    id="OC206",
    title="Something is stated, and the search for it found nothing",
    doc=__doc__,
    query="detect/nothing_found",
    severities=("medium", "low"),
    fires=(
        Case("a thing that was not asked about", (NOTHING,), (claim("success", 0, action="", target="af-12"),)),
        Case("a number", (NOTHING,), (claim("success", 0, action="", text="The cheapest costs 120 EUR."),)),
        Case(
            "two searches",
            (NOTHING, call(1, "search", "empty", effect="read", target="lyon", rule="text.no_match")),
            (claim("success", 0, 1, action="search", target="af-12"),),
        ),
        Case(
            "the other call failed",
            (NOTHING, call(1, "list", "failure", effect="read")),
            (claim("success", 0, action="", target="af-12"),),
        ),
    ),
    quiet=(
        Case("the agent says so", (NOTHING,), (claim("failure", 0, action=""),), claimed=Outcome.FAILURE),
        Case("only the look is told", (NOTHING,), (claim("success", 0, action="verify", target="af-12"),)),
        Case(
            "it is about a call that failed, too",
            (NOTHING, call(1, "list", "failure", effect="read")),
            (claim("success", 0, 1, action="", target="af-12"),),
        ),
        Case("what was asked about", (NOTHING,), (claim("success", 0, action="", target="paris"),)),
        Case("all is well", (NOTHING,), (claim("success", 0, action="", generic=True, text="Done, 2 of 2"),)),
        Case(
            "another call returned something",
            (NOTHING, call(1, "list", "success", effect="read")),
            (claim("success", 0, action="", target="af-12"),),
        ),
        Case(
            "the tool has nothing to say",
            (call(0, "search", "empty", effect="read", rule="empty.void"),),
            (claim("success", 0, action="", target="af-12"),),
        ),
        Case("spans are missing", (NOTHING,), (claim("success", 0, action="", target="af-12"),), complete=False),
    ),
)
