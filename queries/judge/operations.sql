-- The operations of some traces: the calls of a run that attempt the same thing, taken together, with how that ended:
-- the same rules as overclaim.outcome.history.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
WITH
-- Bad: failed, or a write that touched nothing; a suspicion alone is neither. Hollow: without an answer, where the tool
-- returns data. Asks: pending until somebody acts. HandedOver: pending, and all that is known is that a service has it.
calls AS (
    SELECT
        *,
        multiIf(
            Bad, 6,
            Hollow, 5,
            Asks, 4,
            Waits AND NOT HandedOver, 3,
            Waits AND Action != 'send', 2,
            Waits, 1,
            0
        ) AS Wrong
    FROM (
        SELECT
            *,
            Grade != 'suspect'
            AND (Observed = 'failure' OR (Observed = 'empty' AND Effect = 'write' AND NOT Hollow)) AS Bad
        FROM (
            SELECT
                TraceId,
                RunSpanId,
                SpanId,
                Position,
                ServiceName,
                Environment,
                Agent,
                AgentVersion,
                Model,
                Tool,
                Operation,
                Targets,
                Action,
                Effect,
                Observed,
                Grade,
                Started,
                Duration,
                Observed = 'pending' AS Waits,
                Observed = 'empty' AND hasAny(EvidenceRule, ['empty.unusual', 'exists.already']) AS Hollow,
                Observed = 'pending' AND arrayExists(
                    (rule, grade) -> endsWith(rule, '.action_required') AND grade != 'suspect',
                    EvidenceRule, EvidenceGrade
                ) AS Asks,
                Observed = 'pending' AND arrayAll(
                    (rule, outcome) -> outcome != 'pending'
                    OR endsWith(rule, '.handed_over')
                    OR rule = 'http.status_202',
                    EvidenceRule, EvidenceOutcome
                ) AS HandedOver
            FROM overclaim_calls FINAL
            WHERE
                TraceId IN {traces:Array(String)}
                AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
                AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        ) AS observed
    ) AS failed
),

-- The ends of the runs in which something may have been mended.
rough AS (
    SELECT
        TraceId,
        RunSpanId,
        groupArray((Position, SpanId, Operation, Targets, Action, Effect = 'read', Wrong = 0, Waits)) AS Ends
    FROM calls
    WHERE Observed = 'success' OR Wrong > 0
    GROUP BY TraceId, RunSpanId
    HAVING min(Wrong) = 0 AND max(Wrong) > 0
),

-- What links attempts is their operation, and each of their targets. All of one kind are taken together: kinds are few,
-- so what follows grows with the length of the run.
kinds AS (
    SELECT
        TraceId,
        RunSpanId,
        arrayJoin(arrayConcat([('operation', End.3)], arrayMap(t -> ('target', t), End.4))) AS Link,
        End.5 AS Action,
        End.6 AS Look,
        End.7 AS Good,
        End.8 AS Waits,
        min(End.1) AS First,
        max(End.1) AS Last,
        groupArray((End.1, End.2, End.3)) AS Calls
    FROM rough
    ARRAY JOIN Ends AS End
    GROUP BY TraceId, RunSpanId, Link, Action, Look, Good, Waits
),

-- Each kind of good end with each kind of unfinished end that it is linked with. A later end of the same operation
-- mends what is unfinished, or one that reached its target (Later); but a look never mends a change, a deed of another
-- kind only ends what waits, and what is deleted cannot be deleted again (Gone).
pairs AS (
    SELECT
        TraceId,
        RunSpanId,
        Mender,
        Rough,
        Same
        OR Sees AND (
            Rough.3
            OR Mender.1 = Rough.1
            OR Mender.1 IN ('', 'run', 'delegate')
            OR Rough.1 IN ('', 'run', 'delegate')
            OR (Mender.1 IN ('create', 'update') AND Rough.1 IN ('create', 'update'))
        ) AS Later,
        NOT Same AND Sees AND Mender.1 = 'delete' AND Rough.1 = 'delete' AS Gone
    FROM (
        SELECT
            TraceId,
            RunSpanId,
            Same,
            arrayJoin(Menders) AS Mender,
            arrayJoin(Roughs) AS Rough,
            Rough.2 OR NOT Mender.2 AS Sees
        FROM (
            SELECT
                TraceId,
                RunSpanId,
                Link.1 = 'operation' AS Same,
                groupArrayIf((Action, Look, Waits, First, Last, Calls), Good) AS Menders,
                groupArrayIf((Action, Look, Waits, First, Last, Calls), NOT Good) AS Roughs
            FROM kinds
            GROUP BY TraceId, RunSpanId, Link
            HAVING notEmpty(Menders) AND notEmpty(Roughs)
        ) AS linked
    ) AS each
),

-- The unfinished calls that are mended, and the good ones that mend some, by operation, since a long run has many.
ways AS (
    SELECT
        TraceId,
        RunSpanId,
        Way.3 AS Operation,
        groupUniqArrayIf(Way.2, Way.1) AS Mended,
        groupUniqArrayIf(Way.2, NOT Way.1) AS Mending
    FROM (
        SELECT
            TraceId,
            RunSpanId,
            arrayJoin(arrayConcat(
                arrayMap(
                    call -> (1, call.2, call.3),
                    arrayFilter(call -> (Later AND Mender.5 > call.1) OR (Gone AND Mender.4 < call.1), Rough.6)
                ),
                arrayMap(
                    call -> (0, call.2, call.3),
                    arrayFilter(call -> (Later AND call.1 > Rough.4) OR (Gone AND call.1 < Rough.5), Mender.6)
                )
            )) AS Way
        FROM pairs
    ) AS each
    GROUP BY TraceId, RunSpanId, Operation
),

-- What the agent reports as failed or unfinished. LastWord: the place of the last such claim that names neither calls
-- nor a deed.
reports AS (
    SELECT
        TraceId,
        RunSpanId,
        groupUniqArrayArray(About) AS Spans,
        max(if(empty(About) AND Action = '', toInt64(Position), -1)) AS LastWord,
        max(empty(About)) AS Lost,
        count() AS Words
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Outcome IN ('failure', 'partial')
    GROUP BY TraceId, RunSpanId
),

-- The call that tells the state of each operation (Told): the last of which anything is known. Where that one is
-- unfinished, a later call of which nothing is known may have mended it, so then that one tells: nothing is known.
attempts AS (
    SELECT
        *,
        if(Unknown.3 != '' AND (Known.3 = '' OR Known.8 > 0), Unknown, Known) AS Told
    FROM (
        SELECT
            *,
            arrayFirst(end -> end.3 = 'unknown' AND (Known.3 = '' OR end.1 > Known.1), Ends) AS Unknown
        FROM (
            SELECT
                *,
                arrayLast(end -> end.3 != 'unknown', Ends) AS Known
            FROM (
                SELECT
                    TraceId,
                    RunSpanId,
                    Operation,
                    any(ServiceName) AS ServiceName,
                    any(Environment) AS Environment,
                    any(Agent) AS Agent,
                    any(AgentVersion) AS AgentVersion,
                    any(Model) AS Model,
                    countIf(Bad) AS FailedAttempts,
                    max(Action IN ('', 'run', 'delegate')) AS AnyDeed,
                    sum(Duration) AS Nanoseconds,
                    min(calls.Started) AS Started,
                    arraySort(groupArray((Position, SpanId, Observed, Grade, Tool, Action, Effect, Wrong))) AS Ends
                FROM calls
                GROUP BY TraceId, RunSpanId, Operation
            ) AS together
        ) AS with_known
    ) AS with_unknown
)

-- Admitted: the agent reports it as failed or unfinished. Covered: it may mean it where it says so of nothing that can
-- be told: all where it names no deed, else those that may be any deed.
SELECT
    attempts.TraceId AS TraceId,
    attempts.RunSpanId AS RunSpanId,
    attempts.Operation AS Operation,
    attempts.ServiceName AS ServiceName,
    attempts.Environment AS Environment,
    attempts.Agent AS Agent,
    attempts.AgentVersion AS AgentVersion,
    attempts.Model AS Model,
    attempts.Told.5 AS Tool,
    attempts.Told.6 AS Action,
    attempts.Told.7 AS Effect,
    length(attempts.Ends) AS Attempts,
    attempts.FailedAttempts AS FailedAttempts,
    tupleElement(attempts.Ends[1], 1) AS First,
    attempts.Told.1 AS Last,
    tupleElement(attempts.Ends[1], 2) AS FirstSpanId,
    attempts.Told.2 AS LastSpanId,
    tupleElement(attempts.Ends[1], 3) AS FirstObserved,
    attempts.Told.3 AS Observed,
    attempts.Told.4 AS Grade,
    if(OpenEnd, attempts.Told.8, 0) AS Trouble,
    NOT Admitted AND NOT has(ways.Mended, LastSpanId) AS OpenEnd,
    hasAny(reports.Spans, Calls) AS Admitted,
    reports.Words > 0 AND (reports.LastWord >= 0 OR (reports.Lost AND attempts.AnyDeed)) AS Covered,
    if(reports.Words > 0, reports.LastWord, -1) AS LastWord,
    attempts.Told.8 > 0 OR has(ways.Mending, LastSpanId) AS WasRough,
    attempts.Ends.2 AS Calls,
    ways.Mended AS Mended,
    attempts.Nanoseconds AS Nanoseconds,
    attempts.Started AS Started,
    {version:UInt64} AS Version
FROM attempts
LEFT JOIN ways
    ON
        attempts.TraceId = ways.TraceId
        AND attempts.RunSpanId = ways.RunSpanId
        AND attempts.Operation = ways.Operation
LEFT JOIN reports ON attempts.TraceId = reports.TraceId AND attempts.RunSpanId = reports.RunSpanId
