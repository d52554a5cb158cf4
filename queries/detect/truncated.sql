-- Claims of some traces that speak of all there are, while a look that they are about says that it returned only a part
-- of it: it was cut off, or there are more pages. Quiet where the same tool was called again after that, which may have
-- fetched the rest; where the agent tells of a part or of a failure; and where another rule accuses the claim.
WITH
calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Position,
        Tool,
        Effect != 'write'
        AND Observed IN ('success', 'unknown')
        AND has(EvidenceRule, 'result.truncated') AS Partly,
        EvidenceValue[indexOf(EvidenceRule, 'result.truncated')] AS Mark,
        EvidenceSpanId[indexOf(EvidenceRule, 'result.truncated')] AS Shown
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- Of each run the looks that returned a part, and after which their tool was not called any more.
partly AS (
    SELECT
        TraceId,
        RunSpanId,
        arraySort(groupArray((Position, SpanId, Tool, Mark, Shown))) AS Looks
    FROM (
        SELECT
            *,
            max(Position) OVER (PARTITION BY TraceId, RunSpanId, Tool) AS LastOfTool
        FROM calls
    )
    WHERE Partly AND Position = LastOfTool
    GROUP BY TraceId, RunSpanId
),

accused AS (
    SELECT
        TraceId,
        RunSpanId,
        groupArray(Claim) AS Claims
    FROM overclaim_verdicts FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Claim >= 0
        AND Label IN ('contradicted', 'unsupported', 'pending')
    GROUP BY TraceId, RunSpanId
),

claims AS (
    SELECT
        TraceId,
        RunSpanId,
        Position,
        SpanId,
        About
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Outcome = 'success'
        AND Everything
        AND notEmpty(About)
),

runs AS (
    SELECT *
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Complete
        AND Claimed = 'success'
)

SELECT
    claims.TraceId AS TraceId,
    claims.RunSpanId AS RunSpanId,
    toInt32(claims.Position) AS Claim,
    claims.SpanId AS ClaimSpanId,
    arrayFirst(look -> has(claims.About, look.2), partly.Looks) AS Look,
    [Look.2] AS CallSpanIds,
    'result.truncated' AS EvidenceRule,
    Look.4 AS EvidenceValue,
    if(Look.5 = '', Look.2, Look.5) AS EvidenceSpanId,
    runs.ServiceName AS ServiceName,
    runs.Environment AS Environment,
    runs.Agent AS Agent,
    runs.AgentVersion AS AgentVersion,
    runs.Model AS Model,
    Look.3 AS Tool,
    toUnixTimestamp64Nano(runs.Started) AS At,
    'low' AS Severity
FROM claims
INNER JOIN partly ON claims.TraceId = partly.TraceId AND claims.RunSpanId = partly.RunSpanId
INNER JOIN runs ON claims.TraceId = runs.TraceId AND claims.RunSpanId = runs.SpanId
LEFT JOIN accused ON claims.TraceId = accused.TraceId AND claims.RunSpanId = accused.RunSpanId
WHERE Look.2 != '' AND NOT has(accused.Claims, toInt32(claims.Position))
