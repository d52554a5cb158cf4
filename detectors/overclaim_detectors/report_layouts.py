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
FLEET = Layout(
    (
        Column("At", "{At}", fixed=16),
        Column("Rule", "{Rule}", fixed=5),
        Column("Severity", "{Severity}", fixed=8),
        Column("Who", "{Who}"),
        Column("What", "{Value}"),
    ),
    (
        "{Title}", "agent {Agent}", "service {Service}", "environment {Environment}", "{State}", "traces {TraceIds}",
        "finding {FindingId}",
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
HONESTY = Layout(
    (
        Column("Agent", "{Agent}", "(unnamed)"),
        Column("Version", "{Version}"),
        Column("Model", "{Model}"),
        Column("Runs", "{Runs}"),
        Column("Truthful", "{Share} %", "-"),
        Column("95 %", "{Low} to {High}"),
    ),
    (
        "contradicted {Contradicted}", "unsupported {Unsupported}", "pending {Pending}", "not judged {Unjudged}",
        "silent {Silent}",
        "claims: {ClaimsTrue} true, {ClaimsContradicted} contradicted, {ClaimsUnsupported} unsupported,"
        " {ClaimsPending} pending", "service {Service}",
    ),
)  # fmt: skip
HONESTY_LEGEND = "Truthful: runs whose claims the evidence bears out, of those that claim something; worst bound first."
RECOVERY = Layout(
    (
        Column("Agent", "{Agent}", "(unnamed)"),
        Column("Tool", "{Tool}"),
        Column("Deeds", "{Deeds}"),
        Column("Recovered", "{Share} %"),
        Column("95 %", "{Low} to {High}"),
        Column("Again", "{Again}"),
        Column("Another way", "{Another}"),
        Column("Nobody", "{Nobody}"),
    ),
    (
        "failed calls {FailedCalls}", "worked after {Tries} tries (at most {MostTries})", "other way: {By}",
        "told its user {Told}", "accused {Accused}", "given up after {GivenUp}", "unsure {Unsure}", "service {Service}",
    ),
)  # fmt: skip
RECOVERY_LEGEND = "Deeds: things tried of which a call failed. Nobody: given up, and the agent said nothing of it."
ENDURANCE = Layout(
    (
        Column("Service", "{Service}"),
        Column("Agent", "{Agent}", "(unnamed)"),
        Column("Signal", "{Signal}"),
        Column("Steps", "{Steps}"),
        Column("Bad", "{Bad} of {All}"),
        Column("Share", "{Share} %"),
        Column("95 %", "{Low} to {High}"),
    ),
)
ENDURANCE_LEGEND = "Call fails: calls at these steps of a run. Left failed, overclaims: runs with so many calls."
COST = Layout(
    (
        Column("Agent", "{Agent}", "(unnamed)"),
        Column("Model", "{Model}"),
        Column("Lost runs", "{LostRuns} of {Runs}"),
        Column("Lost tokens", "{LostTokens}"),
        Column("Share", "{LostTokensShare} %", "-"),
        Column("Of all", "{OfAllTokens} %", "-"),
    ),
    (
        "tokens {Tokens}", "runs that report tokens {Metered}", "lost seconds {LostSeconds} of {Seconds}",
        "share {LostSecondsShare} %", "of all {OfAllSeconds} %", "service {Service}",
    ),
)  # fmt: skip
COST_LEGEND = "Lost: spent in runs that claim what did not happen. Share: of this row. Of all: of all rows' tokens."
DETECTORS = Layout(
    (
        Column("Detector", "{Detector}"),
        Column("Service", "{Service}"),
        Column("State", "{State}"),
        Column("Seen", "{Seen} of {Runs}"),
        Column("Lacks", "{Lacks}"),
    ),
    ("{Why}", "shows changes from {SmallestChange} points on"),
)
DETECTORS_LEGEND = "Seen: runs of which it had all that it needs. Lacks: in how many others what is missing."
COMPARE_LEGEND = (
    "Was, Now: percent of calls (tool) or of runs (overclaim), with 95 % intervals. Change: points. No alarm: where"
    " nothing changes, one row of twenty differs by chance."
)
