"""How each report looks to people."""

from __future__ import annotations

from overclaim_detectors.layout import Column, Layout

CLAIMS = Layout(
    (
        Column("At", "{At}", fixed=16),
        Column("Rule", "{Rule}", fixed=5),
        Column("Agent", "{Agent}"),
        Column("Claims", "{Claims}"),
        Column("Claimed", "{Action}", "success"),
        Column("Observed", "{Observed}", "no call"),
        Column("Evidence", "{Evidence} {Value}"),
    ),
    (
        "tool {Tool}", "service {Service}", "severity {Severity}", '"{Words}"',
        "trace {TraceId}", "span {EvidenceSpanId}",
    ),
)  # fmt: skip
SILENT = Layout(
    (
        Column("At", "{At}", fixed=16),
        Column("Agent", "{Agent}"),
        Column("Tool", "{Tool}"),
        Column("Observed", "{Observed}"),
        Column("Evidence", "{Evidence} {Value}"),
    ),
    (
        "{Rules}", "severity {Severity}", "service {Service}", "tool said {ToolSaid}", "span status {SpanStatus}",
        "noticed by {Noticed}", "trace {TraceId}", "span {EvidenceSpanId}",
    ),
)  # fmt: skip
PROCEDURES = Layout(
    (
        Column("At", "{At}", fixed=16),
        Column("Rule", "{Rule}", fixed=5),
        Column("Agent", "{Agent}"),
        Column("Procedure", "{Procedure}"),
        Column("Says", "{Says}"),
        Column("Call", "{Tool}", "no call"),
    ),
    ("severity {Severity}", "calls {CallsShown}", "service {Service}", "trace {TraceId}", "span {EvidenceSpanId}"),
)
DRIFT = Layout(
    (
        Column("Since", "{Since}", fixed=16),
        Column("Severity", "{Severity}", fixed=8),
        Column("Signal", "{Signal}"),
        Column("Who", "{Who}"),
        Column("Was", "{Was} %"),
        Column("Now", "{Now} %"),
        Column("Extra runs", "{ExtraRuns}"),
    ),
    (
        "{Sentence}", "behaviour {ByBehaviour} points, traffic {ByTraffic} points", "{Causes}",
        "by chance at most once in {ByChance} weeks", "service {Service}", "state {State}", "{Reason}",
        "traces {TraceIds}", "part: drift {Part}", "drift {DriftId}",
    ),
)  # fmt: skip
COMPARE = Layout(
    (
        Column("Signal", "{Signal}"),
        Column("Agent", "{Agent}"),
        Column("Was", "{Was} %"),
        Column("Now", "{Now} %"),
        Column("Change", "{Change}"),
        Column("Reading", "{Reading}"),
    ),
    (
        "service {Service}", "then {BadThen} of {AllThen}", "({WasLow} to {WasHigh} %)",
        "now {BadNow} of {AllNow}", "({NowLow} to {NowHigh} %)", "change {ChangeLow} to {ChangeHigh} points", "p {P}",
    ),
)  # fmt: skip
COVERAGE = Layout(
    (
        Column("Agent", "{Agent}"),
        Column("Runs", "{Runs}"),
        Column("Incomplete", "{Incomplete}"),
        Column("Not captured", "{NotCaptured}"),
        Column("No claim", "{ClaimNothing}"),
        Column("Unreadable", "{Unreadable}"),
        Column("Calls", "{Calls}"),
        Column("Unknown", "{UnknownCalls}"),
    ),
    ("service {Service}", "calls with structured evidence {StructuredCalls}", "missing: {Gaps}", "last run {LastRun}"),
)
NORMALS = Layout(
    (
        Column("Tool", "{Tool}"),
        Column("Changed", "{Changed}"),
        Column("Void", "{Void}"),
        Column("Returns data", "{ReturnsData}"),
        Column("Looked", "{Looked}"),
        Column("Missed", "{Missed}"),
    ),
    ("service {Service}", "learned {Learned}"),
)
