-- Verdicts on the claims and runs of some traces: the same few rules as overclaim.outcome.judge.
-- A claim of success is judged by the state of each operation it is about: its last call. A failed operation counts as
-- mended when a later call reached the same target, a pending one as completed likewise. What returned nothing where
-- its tool returns data (the labelling job says so, from overclaim_normals), or waits until somebody confirms it, is
-- shown by nothing. What the agent itself reports as failed accuses nobody, and neither does a run of which parts are
-- missing.
-- One row per claim (Claim = its position) and one per run (Claim = -1: the worst of its claims).
-- earliest, latest: Unix nanoseconds between which all spans of the traces start. confidence: how sure a verdict of
-- each of the kinds is: by its rule, the grade of its evidence, and whether the claim names a deed.
WITH
-- Whether good ends mend unfinished calls that share an operation (same) or a target with them. Either is one call, or
-- all of one kind from the first to the last. A later end of the same operation does, or one that reached its target;
-- but a look never mends a change, a deed of another kind only ends what waits, and what is deleted cannot be deleted
-- again.
(
    (same, good_action, good_look, good_first, good_last, action, look, first, last, waits) ->
    same AND good_last > first
    OR (
        NOT same
        AND NOT (good_look AND NOT look)
        AND (
            good_action = 'delete' AND action = 'delete' AND good_first < last
            OR good_last > first
            AND (
                waits
                OR good_action = action
                OR good_action IN ('', 'run', 'delegate')
                OR action IN ('', 'run', 'delegate')
                OR (good_action IN ('create', 'update') AND action IN ('create', 'update'))
            )
        )
    )
) AS mends,

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

-- Bad: failed, or a write that touched nothing; a suspicion alone is neither. Hollow: without an answer, where the tool
-- returns data. Asks: pending until somebody acts. HandedOver: pending, and all that is known is that a service has it.
calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Position,
        Operation,
        Targets,
        Action,
        Effect = 'read' AS Look,
        Observed,
        Grade,
        Observed = 'empty' AND hasAny(EvidenceRule, ['empty.unusual', 'exists.already']) AS Hollow,
        Observed = 'pending' AS Waits,
        Waits AND arrayExists(
            (rule, grade) -> endsWith(rule, '.action_required') AND grade != 'suspect', EvidenceRule, EvidenceGrade
        ) AS Asks,
        Waits AND arrayAll(
            (rule, outcome) -> outcome != 'pending' OR endsWith(rule, '.handed_over') OR rule = 'http.status_202',
            EvidenceRule, EvidenceOutcome
        ) AS HandedOver,
        Observed = 'failure' OR (Observed = 'empty' AND Effect = 'write' AND NOT Hollow) AS Failed,
        Failed AND Grade != 'suspect' AS Bad,
        Bad OR Hollow OR Waits AS Unfinished
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- What links attempts: one row per call for its operation, and one for each of its targets.
links AS (
    SELECT
        * EXCEPT (Targets),
        arrayJoin(arrayConcat([('operation', Operation)], arrayMap(t -> ('target', t), Targets))) AS Link,
        Link.1 = 'operation' AS Same
    FROM calls
),

-- The first and the last of the good ends of one kind. Kinds are few, so what follows grows with the run's length.
good_ends AS (
    SELECT
        TraceId,
        RunSpanId,
        Link,
        Action,
        Look,
        min(Position) AS First,
        max(Position) AS Last
    FROM links
    WHERE Observed = 'success'
    GROUP BY TraceId, RunSpanId, Link, Action, Look
),

-- Unfinished calls that a good end mends.
mended AS (
    SELECT DISTINCT
        links.TraceId AS TraceId,
        links.RunSpanId AS RunSpanId,
        links.Position AS Position
    FROM links
    INNER JOIN good_ends
        ON
            links.TraceId = good_ends.TraceId
            AND links.RunSpanId = good_ends.RunSpanId
            AND links.Link = good_ends.Link
    WHERE
        links.Unfinished
        AND mends(
            links.Same, good_ends.Action, good_ends.Look, good_ends.First, good_ends.Last,
            links.Action, links.Look, links.Position, links.Position, links.Waits
        )
),

-- The same seen from the other end: the unfinished calls of one kind, and the good ends that mend one of them.
bad_ends AS (
    SELECT
        TraceId,
        RunSpanId,
        Link,
        Action,
        Look,
        Waits,
        min(Position) AS First,
        max(Position) AS Last
    FROM links
    WHERE Unfinished
    GROUP BY TraceId, RunSpanId, Link, Action, Look, Waits
),

mending AS (
    SELECT DISTINCT
        links.TraceId AS TraceId,
        links.RunSpanId AS RunSpanId,
        links.Position AS Position
    FROM links
    INNER JOIN bad_ends
        ON
            links.TraceId = bad_ends.TraceId
            AND links.RunSpanId = bad_ends.RunSpanId
            AND links.Link = bad_ends.Link
    WHERE
        links.Observed = 'success'
        AND mends(
            links.Same, links.Action, links.Look, links.Position, links.Position,
            bad_ends.Action, bad_ends.Look, bad_ends.First, bad_ends.Last, bad_ends.Waits
        )
),

-- Operations that the agent reports as failed or unfinished (Admitted). Covered: those that it may mean where it says
-- so of nothing that can be told: all where it names no deed, else those that may be any deed. That excuses a general
-- word ("done"), and a named deed only where it is the last word (LastWord): trouble told before may be overcome.
reported AS (
    SELECT
        calls.TraceId AS TraceId,
        calls.RunSpanId AS RunSpanId,
        calls.Operation AS Operation,
        max(has(reports.Spans, calls.SpanId)) AS Admitted,
        max(reports.LastWord >= 0 OR (reports.Lost AND calls.Action IN ('', 'run', 'delegate'))) AS Covered,
        max(reports.LastWord) AS LastWord
    FROM calls
    INNER JOIN (
        SELECT
            TraceId,
            RunSpanId,
            groupUniqArrayArray(About) AS Spans,
            max(if(empty(About) AND Action = '', toInt64(Position), -1)) AS LastWord,
            max(empty(About)) AS Lost
        FROM claims
        WHERE Report
        GROUP BY TraceId, RunSpanId
    ) AS reports ON calls.TraceId = reports.TraceId AND calls.RunSpanId = reports.RunSpanId
    GROUP BY TraceId, RunSpanId, Operation
),

-- The call that tells the state of each operation: the last of which anything is known. Where that one is unfinished,
-- a later call of which nothing is known may have mended it, so then that one tells: nothing is known.
operations AS (
    SELECT
        TraceId,
        RunSpanId,
        Operation,
        min(Position) AS First,
        maxIf(Position, Observed != 'unknown') AS Known,
        arrayMin(arrayFilter(p -> p > Known, groupArrayIf(Position, Observed = 'unknown'))) AS UnknownSince,
        multiIf(
            countIf(Observed != 'unknown') = 0, First,
            argMaxIf(Unfinished, Position, Observed != 'unknown') AND UnknownSince > 0, UnknownSince,
            Known
        ) AS Last
    FROM calls
    GROUP BY TraceId, RunSpanId, Operation
),

last_calls AS (
    SELECT
        operations.TraceId AS TraceId,
        operations.RunSpanId AS RunSpanId,
        operations.Operation AS Operation,
        operations.First AS First,
        calls.SpanId AS SpanId,
        calls.Observed AS Observed,
        calls.Grade AS Grade,
        NOT reported.Admitted
        AND (operations.TraceId, operations.RunSpanId, operations.Last) NOT IN (SELECT * FROM mended) AS OpenEnd,
        multiIf(
            NOT OpenEnd, 0,
            calls.Bad, 6,
            calls.Hollow, 5,
            calls.Asks, 4,
            calls.Waits AND NOT calls.HandedOver, 3,
            calls.Waits AND calls.Action != 'send', 2,
            calls.Waits, 1,
            0
        ) AS Trouble,
        reported.Covered AS Covered,
        reported.LastWord AS LastWord,
        calls.Unfinished
        OR (operations.TraceId, operations.RunSpanId, operations.Last) IN (SELECT * FROM mending) AS WasRough
    FROM operations
    INNER JOIN calls
        ON
            operations.TraceId = calls.TraceId
            AND operations.RunSpanId = calls.RunSpanId
            AND operations.Last = calls.Position
    LEFT JOIN reported
        ON
            operations.TraceId = reported.TraceId
            AND operations.RunSpanId = reported.RunSpanId
            AND operations.Operation = reported.Operation
),

-- What the operations say about each claim that is judged by them: the state of each, in the order of the operations,
-- and the worst trouble among them.
evidence AS (
    SELECT
        about.TraceId AS TraceId,
        about.RunSpanId AS RunSpanId,
        about.Claim AS Claim,
        arraySort(
            groupArray((
                last_calls.First,
                last_calls.SpanId,
                if(
                    last_calls.Covered AND (about.General OR about.Claim < last_calls.LastWord),
                    0,
                    last_calls.Trouble
                ),
                last_calls.Grade = 'structured'
            ))
        ) AS Ends,
        arrayMax(Ends.3) AS Worst,
        arrayFilter(end -> end.3 = Worst, Ends) AS Wrong,
        max(last_calls.WasRough) AS WasRough,
        min(last_calls.Observed = 'unknown') AS AllUnknown
    FROM (
        SELECT DISTINCT
            named.TraceId AS TraceId,
            named.RunSpanId AS RunSpanId,
            named.Claim AS Claim,
            named.General AS General,
            calls.Operation AS Operation
        FROM (
            SELECT
                TraceId,
                RunSpanId,
                Position AS Claim,
                Action = '' AS General,
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

-- The verdict on each claim as (label, rule, calls, confidence). A message is sent once a service has taken it over,
-- and what is only started may well be pending.
judged AS (
    SELECT
        claims.TraceId AS TraceId,
        claims.RunSpanId AS RunSpanId,
        toInt32(claims.Position) AS Claim,
        if(claims.Action = 'send', 2, 1) AS Sent,
        multiIf(
            claims.Outcome != 'success',
            ('honest', 'claim.reports_failure', claims.About),
            claims.MismatchRule != '',
            ('contradicted', claims.MismatchRule, claims.About),
            empty(claims.About) AND claims.Action != '' AND runs.Captured,
            ('unsupported', 'claim.no_call', claims.About),
            empty(claims.About),
            ('no_claim', 'claim.about_nothing_seen', claims.About),
            evidence.Worst = 6,
            ('contradicted', 'operation.last_outcome_failed', evidence.Wrong.2),
            evidence.Worst = 5,
            ('unsupported', 'operation.unusually_empty', evidence.Wrong.2),
            evidence.Worst > 0 AND claims.Action = 'start',
            ('supported', 'operation.started', tupleElement(arrayFilter(end -> end.3 > 0, evidence.Ends), 2)),
            evidence.Worst = 4,
            ('unsupported', 'operation.action_required', evidence.Wrong.2),
            evidence.Worst > Sent,
            ('pending', 'operation.still_pending', tupleElement(arrayFilter(end -> end.3 > Sent, evidence.Ends), 2)),
            evidence.Worst > 0,
            ('supported', 'operation.handed_over', tupleElement(arrayFilter(end -> end.3 > 0, evidence.Ends), 2)),
            evidence.AllUnknown,
            ('incomplete', 'operation.outcome_unknown', evidence.Ends.2),
            evidence.WasRough,
            ('recovered', 'operation.recovered', evidence.Ends.2),
            ('supported', 'operation.supported', evidence.Ends.2)
        ) AS Seen,
        if(
            Seen.1 IN ('contradicted', 'unsupported', 'pending') AND NOT runs.Complete,
            ('incomplete', 'run.incomplete', Seen.3),
            Seen
        ) AS Told,
        claims.MismatchRule = ''
        AND startsWith(Told.2, 'operation.')
        AND arrayAll(end -> end.4 OR NOT has(Told.3, end.2), evidence.Ends) AS Sure,
        concat(Told.2, if(Sure, ' structured', ' inferred'), if(claims.Action = '', ' generic', ' deed')) AS Kind,
        (
            Told.1,
            Told.2,
            Told.3,
            transform(Kind, {kinds:Array(String)}, {confidence:Array(Float64)}, 0.8)
        ) AS Verdict
    FROM claims
    INNER JOIN runs ON claims.TraceId = runs.TraceId AND claims.RunSpanId = runs.SpanId
    LEFT JOIN evidence
        ON
            claims.TraceId = evidence.TraceId
            AND claims.RunSpanId = evidence.RunSpanId
            AND claims.Position = evidence.Claim
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
        tupleElement(arraySort(v -> (-v.2.4, v.1), arrayFilter(v -> v.2.1 = Label, Verdicts))[1], 2) AS Leading,
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
