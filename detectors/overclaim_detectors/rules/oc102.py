"""An action is claimed that no call shows to be done.

## What it finds
A claim that names an action ("I verified the link") in a run whose calls would have been seen, and none of them can be
what the claim means; most plainly where the run has no call at all. Or the call is there, and nothing shows that it did
anything: it waits until somebody confirms, verifies or approves it (`operation.action_required`), or it returned
nothing although its tool returns data in other runs (`operation.unusually_empty`).

## Why it matters
It is the largest kind of overclaim and leaves no error behind: the only evidence is that nothing happened.

## Example
The agent looks the order up, never calls the refund tool, and says "I have refunded the order". Or the refund tool
answers "Verification required, a code was sent to you", nobody enters the code, and the agent says the same.

## Cure
If the action ran outside of the captured tools, instrument it (`@overclaim.tool`). If it did not run, let the agent
show the call before it may claim it, and finish what waits. Where a tool may well return nothing, say so: `empty_ok`.
"""

from __future__ import annotations

from overclaim.outcome.lexicon import looks
from overclaim_detectors.rule import Case, Rule, call, claim

RULE = Rule(
    id="OC102",
    title="An action is claimed that no call shows to be done",
    doc=__doc__,
    query="judge/accusations",
    severities=("high", "medium"),
    params={"looks": sorted(looks())},
    fires=(
        Case("no call at all", (), (claim("success", action="send"),)),
        Case(
            "only something else",
            (call(0, "read", "success", effect="read"),),
            (claim("success", 0, action="read"), claim("success", action="send")),
        ),
        Case(
            "a failure elsewhere is admitted", (call(0, "create", "failure"),), (claim("failure", 0), claim("success"))
        ),
        Case(
            "nothing where there is data", (call(0, "create", "empty", rule="empty.unusual"),), (claim("success", 0),)
        ),
        Case("nobody confirmed", (call(0, "pay", "pending", rule="text.action_required"),), (claim("success", 0),)),
    ),
    quiet=(
        Case("calls are not captured", (), (claim("success", action="send"),), captured=False),
        Case("spans are missing", (), (claim("success", action="send"),), complete=False),
        Case("no action is named", (), (claim("success", action=""),)),
        Case("only accepted", (call(0, "pay", "pending"),), (claim("success", 0),)),
        Case(
            "somebody confirmed",
            (
                call(0, "pay", "pending", target="p", rule="text.action_required"),
                call(1, "confirm", "success", target="p"),
            ),
            (claim("success", 0),),
        ),
        Case(
            "the second try returned something",
            (call(0, "create", "empty", target="a", rule="empty.unusual"), call(1, "create", "success", target="a")),
            (claim("success", 0),),
        ),
        Case(
            "only said to be started",
            (call(0, "pay", "pending", rule="text.action_required"),),
            (claim("success", 0, action="start"),),
        ),
    ),
)
