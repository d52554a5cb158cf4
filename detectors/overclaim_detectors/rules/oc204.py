"""A part of what was asked for failed, and the agent tells of success.

## What it finds
A call of which the evidence says that some of it failed (an item of a batch, fewer done than asked for, a status such
as `partial`), in a run whose agent claims success, says nothing of the rest, and did not do it later.

## Why it matters
Most of it is there, so a look at the result finds nothing wrong; who is missing finds out last.

## Example
A mailing tool answers `{"sent": 48, "failed": 2}`; the agent says "The newsletter is out".

## Cure
Tell the agent to report shares ("48 of 50"), and let the tool return who is missing.
"""

from __future__ import annotations

from overclaim.outcome.model import Outcome
from overclaim_detectors.rule import Case, Rule, call, claim

RULE = Rule(
    id="OC204",
    title="A part of what was asked for failed, and the agent tells of success",
    doc=__doc__,
    query="detect/unnoticed",
    severities=("medium",),
    fires=(
        Case("an item of a batch", (call(0, "send", "failure", rule="batch.item_failed", value="2/50"),)),
        Case(
            "the claim is about something else",
            (
                call(0, "import", "failure", target="a1", rule="count.shortfall", value="48/50"),
                call(1, "send", "success", target="b2"),
            ),
            (claim("success", 1, action="send"),),
        ),
        Case("a status", (call(0, "update", "failure", rule="status_word.partial", value="partial"),), red=(0,)),
    ),
    quiet=(
        Case(
            "the agent tells the share",
            (call(0, "send", "failure", rule="batch.item_failed", value="2/50"),),
            (claim("partial", 0),),
        ),
        Case(
            "the rest is done later",
            (call(0, "send", "failure", rule="batch.item_failed", value="2/50"), call(1, "send", "success")),
        ),
        Case(
            "nothing is claimed",
            (call(0, "send", "failure", rule="batch.item_failed", value="2/50"),),
            claimed=Outcome.NONE,
        ),
        Case("all of it failed", (call(0, "send", "failure"),)),
        Case(
            "a claim is accused of it",
            (call(0, "send", "failure", rule="batch.item_failed", value="2/50"),),
            (claim("success", 0),),
        ),
    ),
)
