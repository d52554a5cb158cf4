"""A step that a procedure requires is missing.

## What it finds
A declared `response`, `succession` or `existence` that a run does not keep: the step that must follow another never
came, or failed each time. Only in runs of which every call was seen.

## Why it matters
What is left out leaves no error behind. The answer may even be true to every call that was made.

## Example
`response: {when: {action: update, tool: "*file*"}, then: run_tests}`: the agent edits a file, runs no tests after it,
and says that the file is changed.

## Cure
Tell the agent the step, or make it part of the tool. If the step does run, instrument it (`@overclaim.tool`).
"""

from __future__ import annotations

from overclaim_detectors.rule import Case, Rule, call

TESTED = {"id": "tested", "response": {"when": "edit", "then": "run_tests"}}
PER_FILE = {"id": "saved", "response": {"when": "edit", "then": "save"}, "per": "target"}
LOGGED = {"id": "logged", "existence": "log"}
TOLD = {"id": "told", "response": {"when": {"tool": "charge", "outcome": "failure"}, "then": "notify"}}

RULE = Rule(
    id="OC402",
    title="A step that a procedure requires is missing",
    doc=__doc__,
    query="procedures/findings",
    by_value=True,
    fires=(
        Case("never", (call(0, "edit", "success"),), procedures=(TESTED,)),
        Case("only before", (call(0, "run_tests", "success"), call(1, "edit", "success")), procedures=(TESTED,)),
        Case("it failed", (call(0, "edit", "success"), call(1, "run_tests", "failure")), procedures=(TESTED,)),
        Case(
            "for another file",
            (call(0, "edit", "success", target="a.py"), call(1, "save", "success", target="b.py")),
            procedures=(PER_FILE,),
        ),
        Case("nothing was called", (), procedures=(LOGGED,)),
        Case(
            "too late",
            (call(0, "edit", "success"), call(1, "look", "success"), call(2, "run_tests", "success")),
            procedures=({**TESTED, "within": 1},),
        ),
    ),
    quiet=(
        Case("it follows", (call(0, "edit", "success"), call(1, "run_tests", "success")), procedures=(TESTED,)),
        Case("spans are missing", (call(0, "edit", "success"),), complete=False, procedures=(TESTED,)),
        Case("calls are not captured", (), captured=False, procedures=(LOGGED,)),
        Case("the edit failed", (call(0, "edit", "failure"),), procedures=(TESTED,)),
        Case(
            "how it ended is not known",
            (call(0, "edit", "success"), call(1, "run_tests", "unknown")),
            procedures=(TESTED,),
        ),
        Case(
            "the failure was mended", (call(0, "charge", "failure"), call(1, "charge", "success")), procedures=(TOLD,)
        ),
    ),
)
