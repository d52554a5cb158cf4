-- Calls of some traces that failed without an error on their span, and that no later call mended and nobody mentioned.
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
    AND SpanStatus != 'Error'
    AND (EvidenceSpanId = SpanId OR Claimed != 'success')
    AND NOT (Mended OR Reported OR Accused)
