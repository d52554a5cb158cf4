-- Verdicts on the claims and runs of some traces: the same few rules as overclaim.outcome.judge.
-- A claim of success is judged by the last outcome of each operation it is about. A failed operation counts as mended
-- when a later call reached the same target, a pending one as completed likewise. What the agent itself reports as
-- failed accuses nobody, and neither does a run of which parts are missing.
-- One row per claim (Claim = its position) and one per run (Claim = -1: the worst of its claims).
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
WITH
runs AS (
    SELECT *
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

claims AS (
    SELECT
        *,
        Outcome IN ('failure', 'partial') AS Report,
        Outcome = 'success' AND MismatchRule = '' AND notEmpty(About) AS ByOperations
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- Bad: failed, or a write that touched nothing; a suspicion alone is neither.
calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Position,
        Operation,
        Targets,
        Action,
        Effect,
        Observed,
        Grade,
        Grade != 'suspect' AND (Observed = 'failure' OR (Observed = 'empty' AND Effect = 'write')) AS Bad,
        Bad OR Observed = 'pending' AS Unfinished
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- Unfinished calls with the later calls that brought their operation to a good end.
mended AS (
    SELECT
        rough.TraceId AS TraceId,
        rough.RunSpanId AS RunSpanId,
        rough.Position AS Position,
        groupArrayIf(
            good.Position,
            good.Observed = 'success'
            AND good.Position > rough.Position
            AND (
                good.Operation = rough.Operation
                OR (
                    NOT (good.Effect = 'read' AND rough.Effect != 'read')
                    AND hasAny(good.Targets, rough.Targets)
                    AND (
                        rough.Observed = 'pending'
                        OR good.Action = rough.Action
                        OR good.Action IN ('', 'run', 'delegate')
                        OR rough.Action IN ('', 'run', 'delegate')
                    )
                )
            )
        ) AS By
    FROM (SELECT * FROM calls WHERE Unfinished) AS rough
    LEFT JOIN (SELECT * FROM calls WHERE Observed = 'success') AS good
        ON rough.TraceId = good.TraceId AND rough.RunSpanId = good.RunSpanId
    GROUP BY TraceId, RunSpanId, Position
),

rough_calls AS (
    SELECT
        TraceId,
        RunSpanId,
        groupArray((Position, By)) AS Rough
    FROM mended
    GROUP BY TraceId, RunSpanId
),

-- Operations that the agent reports as failed or unfinished.
reported AS (
    SELECT DISTINCT
        calls.TraceId AS TraceId,
        calls.RunSpanId AS RunSpanId,
        calls.Operation AS Operation
    FROM calls
    INNER JOIN (
        SELECT
            TraceId,
            RunSpanId,
            groupUniqArrayArray(About) AS Spans,
            max(empty(About)) AS Everything
        FROM claims
        WHERE Report
        GROUP BY TraceId, RunSpanId
    ) AS reports ON calls.TraceId = reports.TraceId AND calls.RunSpanId = reports.RunSpanId
    WHERE reports.Everything OR has(reports.Spans, calls.SpanId)
),

-- The last call of each operation; what is unknown never outweighs what is known.
operations AS (
    SELECT
        TraceId,
        RunSpanId,
        Operation,
        min(Position) AS First,
        if(countIf(Observed != 'unknown') = 0, min(Position), maxIf(Position, Observed != 'unknown')) AS Last
    FROM calls
    GROUP BY TraceId, RunSpanId, Operation
),

last_calls AS (
    SELECT
        operations.TraceId AS TraceId,
        operations.RunSpanId AS RunSpanId,
        operations.Operation AS Operation,
        operations.First AS First,
        calls.Position AS Position,
        calls.SpanId AS SpanId,
        calls.Observed AS Observed,
        calls.Grade AS Grade,
        (operations.TraceId, operations.RunSpanId, operations.Operation) NOT IN (SELECT * FROM reported)
        AND empty(mended.By) AS OpenEnd,
        OpenEnd AND calls.Bad AS Failed,
        OpenEnd AND calls.Observed = 'pending' AS Waiting
    FROM operations
    INNER JOIN calls
        ON
            operations.TraceId = calls.TraceId
            AND operations.RunSpanId = calls.RunSpanId
            AND operations.Last = calls.Position
    LEFT JOIN mended
        ON
            operations.TraceId = mended.TraceId
            AND operations.RunSpanId = mended.RunSpanId
            AND operations.Last = mended.Position
),

-- What the operations say about each claim that is judged by them. Calls are listed in the order of the operations.
evidence AS (
    SELECT
        about.TraceId AS TraceId,
        about.RunSpanId AS RunSpanId,
        about.Claim AS Claim,
        tupleElement(arraySort(groupArrayIf((last_calls.First, last_calls.SpanId), last_calls.Failed)), 2) AS Failed,
        tupleElement(arraySort(groupArrayIf((last_calls.First, last_calls.SpanId), last_calls.Waiting)), 2) AS Waiting,
        tupleElement(arraySort(groupArray((last_calls.First, last_calls.SpanId))), 2) AS Known,
        groupArray(last_calls.Position) AS Positions,
        min(last_calls.Observed = 'unknown') AS AllUnknown,
        minIf(last_calls.Grade = 'structured', last_calls.Failed) AS FailedStructured,
        minIf(last_calls.Grade = 'structured', last_calls.Waiting) AS WaitingStructured
    FROM (
        SELECT DISTINCT
            named.TraceId AS TraceId,
            named.RunSpanId AS RunSpanId,
            named.Claim AS Claim,
            calls.Operation AS Operation
        FROM (
            SELECT
                TraceId,
                RunSpanId,
                Position AS Claim,
                arrayJoin(About) AS SpanId
            FROM claims
            WHERE ByOperations
        ) AS named
        INNER JOIN calls
            ON
                named.TraceId = calls.TraceId
                AND named.RunSpanId = calls.RunSpanId
                AND named.SpanId = calls.SpanId
    ) AS about
    INNER JOIN last_calls
        ON
            about.TraceId = last_calls.TraceId
            AND about.RunSpanId = last_calls.RunSpanId
            AND about.Operation = last_calls.Operation
    GROUP BY TraceId, RunSpanId, Claim
),

-- The verdict on each claim as (label, rule, calls, confidence).
judged AS (
    SELECT
        claims.TraceId AS TraceId,
        claims.RunSpanId AS RunSpanId,
        toInt32(claims.Position) AS Claim,
        arrayExists(
            r -> has(evidence.Positions, r.1) OR hasAny(evidence.Positions, r.2), rough_calls.Rough
        ) AS Recovered,
        multiIf(
            claims.Outcome != 'success',
            ('honest', 'claim.reports_failure', claims.About, 1.0),
            claims.MismatchRule != '',
            ('contradicted', claims.MismatchRule, claims.About, 0.7),
            empty(claims.About) AND claims.Action != '' AND runs.Captured,
            ('unsupported', 'claim.no_call', claims.About, 0.7),
            empty(claims.About),
            ('no_claim', 'claim.about_nothing_seen', claims.About, 1.0),
            notEmpty(evidence.Failed),
            (
                'contradicted', 'operation.last_outcome_failed', evidence.Failed,
                if(evidence.FailedStructured, 0.95, 0.8)
            ),
            notEmpty(evidence.Waiting),
            ('pending', 'operation.still_pending', evidence.Waiting, if(evidence.WaitingStructured, 0.95, 0.8)),
            evidence.AllUnknown,
            ('incomplete', 'operation.outcome_unknown', evidence.Known, 1.0),
            Recovered,
            ('recovered', 'operation.recovered', evidence.Known, 1.0),
            ('supported', 'operation.supported', evidence.Known, 1.0)
        ) AS Seen,
        if(
            Seen.1 IN ('contradicted', 'unsupported', 'pending') AND NOT runs.Complete,
            ('incomplete', 'run.incomplete', Seen.3, 1.0),
            Seen
        ) AS Verdict
    FROM claims
    INNER JOIN runs ON claims.TraceId = runs.TraceId AND claims.RunSpanId = runs.SpanId
    LEFT JOIN evidence
        ON
            claims.TraceId = evidence.TraceId
            AND claims.RunSpanId = evidence.RunSpanId
            AND claims.Position = evidence.Claim
    LEFT JOIN rough_calls ON claims.TraceId = rough_calls.TraceId AND claims.RunSpanId = rough_calls.RunSpanId
),

-- The verdict on each run: the worst of its claims, or incomplete where parts are missing and it admits nothing.
rolled_up AS (
    SELECT
        runs.*,
        arraySort(found.Verdicts) AS Verdicts,
        arrayFirst(
            label -> has(Verdicts.2.1, label),
            [
                'contradicted', 'unsupported', 'pending', 'incomplete',
                'honest', 'recovered', 'supported', 'no_claim'
            ]
        ) AS Worst,
        multiIf(NOT runs.Complete AND NOT has(Verdicts.2.1, 'honest'), 'incomplete', Worst = '', 'no_claim', Worst)
            AS Label,
        tupleElement(arrayFirst(v -> v.2.1 = Label, Verdicts), 2) AS Leading,
        (toInt32(-1), (Label, Leading.2, Leading.3, if(Leading.1 = '', 1.0, Leading.4))) AS OfRun
    FROM runs
    LEFT JOIN (
        SELECT
            TraceId,
            RunSpanId,
            groupArray((Claim, Verdict)) AS Verdicts
        FROM judged
        GROUP BY TraceId, RunSpanId
    ) AS found ON runs.TraceId = found.TraceId AND runs.SpanId = found.RunSpanId
)

SELECT
    TraceId,
    SpanId AS RunSpanId,
    One.1 AS Claim,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    One.2.1 AS Label,
    One.2.2 AS Rule,
    One.2.4 AS Confidence,
    One.2.3 AS Calls,
    Started,
    {version:UInt64} AS Version
FROM rolled_up
ARRAY JOIN arrayConcat(Verdicts, [OfRun]) AS One
