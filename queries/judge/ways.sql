-- What was mended in some traces: the calls that did not end well and that a later call made good, and those that did
-- so, by operation: the same rules as overclaim.outcome.history. Only of runs where some calls ended well and some not.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
INSERT INTO overclaim_ways (Pass, TraceId, RunSpanId, Operation, Mended, Mending)
WITH
troubled AS (
    SELECT TraceId
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Observed IN ('failure', 'empty', 'pending')
),

-- The ends of the runs in which something may have been mended.
rough AS (
    SELECT
        TraceId,
        RunSpanId,
        groupArray((Position, SpanId, Operation, Targets, Action, Effect = 'read', Wrong = 0, Waits)) AS Ends
    FROM overclaim_ends
    WHERE
        TraceId IN (SELECT troubled.TraceId FROM troubled)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND (Observed = 'success' OR Wrong > 0)
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
)

-- The unfinished calls that are mended, and the good ones that mend some, by operation, since a long run has many.
SELECT
    {version:UInt64} AS Pass,
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
