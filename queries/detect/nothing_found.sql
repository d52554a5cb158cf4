-- Claims of some traces that state something although every call they are about is a look that found nothing, and no
-- other call of the run returned anything. What they state is a thing that no call was asked about (a target), or a
-- number in their words, where they are known; the latter may come from the question, so severity is low there.
-- A claim that only tells of the look ("I checked the calendar"), or of everything ("done"), states nothing.
WITH
-- Traces with a look that found nothing are few; only they are looked at.
some AS (
    SELECT TraceId
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Effect = 'read'
        AND Observed = 'empty'
        AND Grade != 'suspect'
),

calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Position,
        Tool,
        Targets,
        Observed,
        -- An answer of nothing at all is what many tools give; these say that there is no such thing.
        arrayFirst(
            fact -> fact.1 = 'empty'
            AND fact.2 NOT IN ('empty.void', 'empty.output', 'empty.frames_only', 'exit.one_silent'),
            arrayZip(EvidenceOutcome, EvidenceRule, EvidenceValue, EvidenceSpanId)
        ) AS Fact,
        Effect = 'read' AND Observed = 'empty' AND Grade != 'suspect' AND Fact.2 != '' AS Nothing
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN (SELECT some.TraceId FROM some)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- Runs in which no call returned anything, with the looks that found nothing.
looked AS (
    SELECT
        TraceId,
        RunSpanId,
        groupUniqArrayArray(Targets) AS Asked,
        arraySort(groupArrayIf((Position, SpanId, Tool, Fact), Nothing)) AS Looks
    FROM calls
    GROUP BY TraceId, RunSpanId
    HAVING notEmpty(Looks) AND countIf(Observed NOT IN ('empty', 'failure')) = 0
),

claims AS (
    SELECT
        TraceId,
        RunSpanId,
        Position,
        SpanId,
        Targets,
        About,
        match(Text, '[0-9]') AS HasNumber
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN (SELECT some.TraceId FROM some)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Outcome = 'success'
        AND MismatchRule = ''
        AND NOT Generic
        AND Action IN ('', 'search')
        AND notEmpty(About)
),

-- Runs that are whole, and that tell of no failure: then the user knows that there was nothing.
runs AS (
    SELECT *
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN (SELECT some.TraceId FROM some)
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
    claims.About AS CallSpanIds,
    arrayFirst(look -> look.2 = claims.About[1], looked.Looks) AS Look,
    Look.4.2 AS EvidenceRule,
    Look.4.3 AS EvidenceValue,
    if(Look.4.4 = '', Look.2, Look.4.4) AS EvidenceSpanId,
    runs.ServiceName AS ServiceName,
    runs.Environment AS Environment,
    runs.Agent AS Agent,
    runs.AgentVersion AS AgentVersion,
    runs.Model AS Model,
    Look.3 AS Tool,
    toUnixTimestamp64Nano(runs.Started) AS At,
    if(arrayExists(target -> NOT has(looked.Asked, target), claims.Targets), 'medium', 'low') AS Severity
FROM claims
INNER JOIN looked ON claims.TraceId = looked.TraceId AND claims.RunSpanId = looked.RunSpanId
INNER JOIN runs ON claims.TraceId = runs.TraceId AND claims.RunSpanId = runs.SpanId
WHERE hasAll(looked.Looks.2, claims.About) AND (Severity = 'medium' OR claims.HasNumber)
