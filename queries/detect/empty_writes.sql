-- Writes of some traces that touched nothing, in runs whose agent claims success and does not mention it.
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
    if(Effect = 'write', 'high', 'medium') AS Severity
FROM overclaim_failures FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Observed = 'empty'
    AND RunClaimed = 'success'
    AND NOT (Mended OR Reported OR Accused)
