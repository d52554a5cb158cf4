-- The calls of some traces that failed, or wrote nothing, with who noticed: a later call that mended it, the agent's
-- own report, or a verdict that accuses it. Runs after judge/operations and judge/verdicts, and reads what they wrote.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
WITH
calls AS (
    SELECT
        *,
        -- The fact that decided against success: facts are kept with what decided first.
        arrayFirst(
            fact -> fact.1 != 'success',
            arrayZip(EvidenceOutcome, EvidenceRule, EvidenceValue, EvidenceSpanId)
        ) AS Fact
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Grade != 'suspect'
        AND (
            Observed = 'failure'
            -- An answer that only is unusual is no failure.
            OR (
                Observed = 'empty'
                AND Effect = 'write'
                AND NOT hasAny(EvidenceRule, ['empty.unusual', 'exists.already'])
            )
        )
),

operations AS (
    SELECT
        TraceId,
        RunSpanId,
        Operation,
        Mended,
        Admitted OR Covered AS Told
    FROM overclaim_operations FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND FailedAttempts > 0
),

mended AS (
    SELECT
        TraceId,
        arrayJoin(Mended) AS SpanId
    FROM operations
),

reported AS (
    SELECT
        TraceId,
        RunSpanId,
        Operation
    FROM operations
    WHERE Told
),

accused AS (
    SELECT DISTINCT
        TraceId,
        arrayJoin(Calls) AS SpanId
    FROM overclaim_verdicts FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Claim >= 0
        AND Label IN ('contradicted', 'unsupported', 'pending')
)

SELECT
    calls.TraceId AS TraceId,
    calls.RunSpanId AS RunSpanId,
    calls.SpanId AS SpanId,
    calls.ServiceName AS ServiceName,
    calls.Environment AS Environment,
    calls.Agent AS Agent,
    calls.AgentVersion AS AgentVersion,
    calls.Model AS Model,
    calls.Tool AS Tool,
    calls.Effect AS Effect,
    calls.Claimed AS Claimed,
    calls.Observed AS Observed,
    runs.Claimed AS RunClaimed,
    calls.SpanStatus AS SpanStatus,
    (calls.TraceId, calls.SpanId) IN (SELECT * FROM mended) AS Mended,
    (calls.TraceId, calls.RunSpanId, calls.Operation) IN (SELECT * FROM reported) AS Reported,
    (calls.TraceId, calls.SpanId) IN (SELECT * FROM accused) AS Accused,
    calls.Fact.2 AS EvidenceRule,
    calls.Fact.3 AS EvidenceValue,
    if(calls.Fact.4 = '', calls.SpanId, calls.Fact.4) AS EvidenceSpanId,
    calls.Started AS Started,
    {version:UInt64} AS Version
FROM calls
LEFT JOIN (
    SELECT
        TraceId,
        SpanId,
        Claimed
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
) AS runs ON calls.TraceId = runs.TraceId AND calls.RunSpanId = runs.SpanId
