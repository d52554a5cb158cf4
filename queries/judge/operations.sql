-- The operations of some traces: the calls of a run that attempt the same thing, taken together, with how that ended:
-- the same rules as overclaim.outcome.history. Runs after judge/ways, and reads what it wrote.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
WITH
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
                FROM overclaim_ends AS calls
                WHERE
                    calls.TraceId IN {traces:Array(String)}
                    AND calls.Started >= fromUnixTimestamp64Nano({earliest:Int64})
                    AND calls.Started <= fromUnixTimestamp64Nano({latest:Int64})
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
LEFT JOIN (
    SELECT
        TraceId,
        RunSpanId,
        Operation,
        Mended,
        Mending
    FROM overclaim_ways FINAL
    WHERE
        Pass = {version:UInt64}
        AND TraceId IN {traces:Array(String)}
) AS ways
    ON
        attempts.TraceId = ways.TraceId
        AND attempts.RunSpanId = ways.RunSpanId
        AND attempts.Operation = ways.Operation
LEFT JOIN reports ON attempts.TraceId = reports.TraceId AND attempts.RunSpanId = reports.RunSpanId
