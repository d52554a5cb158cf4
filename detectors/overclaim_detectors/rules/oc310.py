"""Behaviour left its reference.

## What it finds
A drift that is open, large enough to matter and no part of another: a rate of a tool, an agent or a service (of
claims that are not true, of failures, of silent ones, of changes that are looked at afterwards) that is another than it
used to be. `overclaim report drift` tells the same at length.

## Why it matters
Each run may look as it always did. That one in ten goes wrong where it was one in fifty shows only in all of them.

## Example
"create_refund: overclaim rate 2.1 % -> 11.4 % since 2026-11-28 14:00 UTC (27 of 236 runs; normal was 30 of 1422).
Started with model m-2026-11."

## Cure
Go back to what ran before, or mend it; the drift closes by itself. If it is to stay so: `overclaim drift accept`.
"""

from __future__ import annotations

from collections.abc import Mapping

from overclaim_detectors.rule import Case, Rule


def drift(**other: object) -> tuple[Mapping[str, object], ...]:
    """One drift. other: what is other than in an open one that is shown."""
    row = {"Level": "tool", "Tool": "refund", "Signal": "overclaim", "Direction": 1, "State": "open", "Shown": 1}
    return ({**row, "Severity": "high", "Sentence": "refund: overclaim rate 2 % -> 11 %.", **other},)


RULE = Rule(
    id="OC310",
    title="Behaviour left its reference",
    doc=__doc__,
    scope="fleet",
    query="fleet/open_drifts",
    fires=(
        Case("of a tool", drifts=drift()),
        Case("of an agent", drifts=drift(Level="agent", Tool="", Agent="clerk", Severity="medium")),
        Case("a fall", drifts=drift(Signal="verified", Direction=-1, Severity="low")),
    ),
    quiet=(
        Case("closed", drifts=drift(State="closed")),
        Case("accepted", drifts=drift(State="accepted")),
        Case("too small to matter", drifts=drift(Shown=0)),
        Case("part of another", drifts=drift(Under="0123456789abcdef")),
    ),
)
