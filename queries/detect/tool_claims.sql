-- Calls of some traces whose tool told the agent that all went well while the evidence shows a failure.
-- Severity is low where the agent noticed: it mended the failure or told its user of it.
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
    multiIf(Mended OR Reported, 'low', Effect = 'write', 'high', 'medium') AS Severity
FROM overclaim_failures FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Claimed = 'success'
    AND Observed = 'failure'
