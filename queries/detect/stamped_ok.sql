-- Calls of some traces whose span has the status Ok while the evidence shows a failure.
-- Severity is low where the agent noticed, or where the call was to change nothing.
SELECT
    TraceId,
    RunSpanId,
    toInt32(-1) AS Claim,
    '' AS ClaimSpanId,
    [SpanId] AS CallSpanIds,
    EvidenceRule,
    EvidenceValue,
    EvidenceSpanId,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Tool,
    toUnixTimestamp64Nano(Started) AS At,
    if(Effect = 'write' AND NOT (Mended OR Reported), 'medium', 'low') AS Severity
FROM overclaim_failures FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND SpanStatus = 'Ok'
    AND Observed = 'failure'
