-- Claims of some traces to have checked what was done, where every call that can have been the check came before it was
-- done: nothing but changes came after that. The claim comes after one that tells of the change, and names what was
-- changed; or it tells of tests, which are always of what is there in the end. Quiet where another rule accuses the
-- claim: that of a check that no call at all can be.
-- checks: the actions that look at something to make sure of it.
WITH
claims AS (
    SELECT
        TraceId,
        RunSpanId,
        Position,
        SpanId,
        Action,
        Targets,
        About
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Outcome = 'success'
        AND MismatchRule = ''
        AND notEmpty(About)
),

checking AS (
    SELECT *
    FROM claims
    WHERE Action IN {checks:Array(String)}
),

-- Of runs that tell of a check, the changes that came after the last call that can have been one.
changes AS (
    SELECT
        TraceId,
        RunSpanId,
        maxIf(Position, NOT Done) AS LastLook,
        arrayFilter(
            change -> change.1 > LastLook, arraySort(groupArrayIf((Position, SpanId, Tool, Targets), Done))
        ) AS Last
    FROM (
        SELECT
            *,
            Effect = 'write' AND Observed = 'success' AS Done
        FROM overclaim_calls FINAL
        WHERE
            TraceId IN (SELECT checking.TraceId FROM checking)
            AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
            AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    )
    GROUP BY TraceId, RunSpanId
    HAVING countIf(NOT Done) > 0 AND notEmpty(Last)
),

told AS (
    SELECT
        TraceId,
        RunSpanId,
        groupArray((Position, About)) AS Told
    FROM claims
    WHERE NOT (Action IN {checks:Array(String)})
    GROUP BY TraceId, RunSpanId
),

accused AS (
    SELECT
        TraceId,
        RunSpanId,
        groupArray(Claim) AS Claims
    FROM overclaim_verdicts FINAL
    WHERE
        TraceId IN (SELECT checking.TraceId FROM checking)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Claim >= 0
        AND Label IN ('contradicted', 'unsupported', 'pending')
    GROUP BY TraceId, RunSpanId
),

runs AS (
    SELECT *
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN (SELECT checking.TraceId FROM checking)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Complete
        AND Captured
)

SELECT
    checking.TraceId AS TraceId,
    checking.RunSpanId AS RunSpanId,
    toInt32(checking.Position) AS Claim,
    checking.SpanId AS ClaimSpanId,
    -- The first change that the agent told of before.
    arrayFirst(
        change -> NOT has(checking.About, change.2)
        AND (checking.Action = 'test' OR hasAny(checking.Targets, change.4))
        AND arrayExists(one -> one.1 < checking.Position AND has(one.2, change.2), told.Told),
        changes.Last
    ) AS Change,
    arrayConcat([Change.2], checking.About) AS CallSpanIds,
    'claim.checked_before' AS EvidenceRule,
    checking.Action AS EvidenceValue,
    Change.2 AS EvidenceSpanId,
    runs.ServiceName AS ServiceName,
    runs.Environment AS Environment,
    runs.Agent AS Agent,
    runs.AgentVersion AS AgentVersion,
    runs.Model AS Model,
    Change.3 AS Tool,
    toUnixTimestamp64Nano(runs.Started) AS At,
    'low' AS Severity
FROM checking
INNER JOIN changes ON checking.TraceId = changes.TraceId AND checking.RunSpanId = changes.RunSpanId
INNER JOIN told ON checking.TraceId = told.TraceId AND checking.RunSpanId = told.RunSpanId
INNER JOIN runs ON checking.TraceId = runs.TraceId AND checking.RunSpanId = runs.SpanId
LEFT JOIN accused ON checking.TraceId = accused.TraceId AND checking.RunSpanId = accused.RunSpanId
WHERE Change.2 != '' AND NOT has(accused.Claims, toInt32(checking.Position))
