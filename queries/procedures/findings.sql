-- The breaches of some traces that some rules ({rules}) report.
SELECT
    Rule,
    TraceId,
    RunSpanId,
    toInt32(-1) AS Claim,
    '' AS ClaimSpanId,
    Calls AS CallSpanIds,
    concat('procedure.', Template) AS EvidenceRule,
    Procedure AS EvidenceValue,
    if(empty(Calls), RunSpanId, Calls[1]) AS EvidenceSpanId,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Tool,
    toUnixTimestamp64Nano(Started) AS At,
    Severity,
    Sentence AS Detail
FROM overclaim_breaches FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Rule IN {rules:Array(String)}
