-- Calls of some traces whose tool returned as if all went well although a request, query or process below it failed,
-- and that no later call mended and nobody mentioned.
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
    AND Observed = 'failure'
    AND Claimed = 'success'
    AND EvidenceSpanId != SpanId
    AND NOT (Mended OR Reported OR Accused)
