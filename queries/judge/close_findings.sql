-- Closes the findings that the newest pass over these traces did not make again: later spans disproved them.
-- Only of rules that ran: where a rule could not run, its findings stand.
INSERT INTO overclaim_findings (
    FindingId, Rule, Severity, Title, TraceId, RunSpanId, Claim, ClaimSpanId, CallSpanIds, EvidenceRule,
    EvidenceValue, EvidenceSpanId, ServiceName, Environment, Agent, AgentVersion, Model, Tool, At, Open, Version
)
SELECT
    FindingId,
    Rule,
    Severity,
    Title,
    TraceId,
    RunSpanId,
    Claim,
    ClaimSpanId,
    CallSpanIds,
    EvidenceRule,
    EvidenceValue,
    EvidenceSpanId,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Tool,
    At,
    0 AS StillOpen,
    {version:UInt64} AS NewVersion
FROM overclaim_findings FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND At >= fromUnixTimestamp64Nano({earliest:Int64})
    AND At <= fromUnixTimestamp64Nano({latest:Int64})
    AND Rule IN {rules:Array(String)}
    AND Open
    AND Version < {version:UInt64}
