-- Calls of some traces that failed, or wrote nothing, and that no later call mended and nobody mentioned; but for those
-- that detect/swallowed_failures and detect/empty_writes find.
-- Severity is one lower where the span is marked as an error: those who count error spans see it.
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
    multiIf(
        Effect = 'write' AND SpanStatus != 'Error', 'high',
        Effect = 'write' OR SpanStatus != 'Error', 'medium',
        'low'
    ) AS Severity
FROM overclaim_failures FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND if(Observed = 'failure', EvidenceSpanId = SpanId OR Claimed != 'success', RunClaimed != 'success')
    AND NOT (Mended OR Reported OR Accused)
