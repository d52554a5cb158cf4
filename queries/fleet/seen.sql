-- What was seen in the runs that started in some hours, counted anew: one row per quarter of an hour in which they
-- ended, kind, tool, value, and who ran. Runs of an agent without a name are left out.
-- hours: their starts, Unix seconds, all between earliest and latest. version: the number of this count.
-- A kind of error is the type of an exception, the status of an answer, or else the rule that read it: never a text,
-- since findings go out and content does not.
WITH
runs AS (
    SELECT
        TraceId,
        SpanId AS RunSpanId,
        ServiceName,
        Environment,
        Agent,
        Started,
        Ended
    FROM overclaim_runs FINAL
    WHERE
        Started >= toDateTime({earliest:UInt32}, 'UTC')
        AND Started < toDateTime({latest:UInt32}, 'UTC') + INTERVAL 1 HOUR
        AND toUnixTimestamp(toStartOfHour(Started)) IN {hours:Array(UInt32)}
        AND Agent != ''
),

-- Clocks of several services may differ by a little, so calls may seem to start before their run.
calls AS (
    SELECT
        TraceId,
        RunSpanId,
        Tool,
        ArgumentNames,
        arrayFirstIndex(
            (outcome, grade) -> outcome = 'failure' AND grade != 'suspect', EvidenceOutcome, EvidenceGrade
        ) AS Place,
        EvidenceRule[Place] AS Reason,
        EvidenceValue[Place] AS Said,
        multiIf(
            Observed != 'failure' OR Grade = 'suspect', '',
            Said = '', Reason,
            startsWith(Reason, 'http.status') AND match(Said, '^[0-9]{1,4}$'), concat('HTTP ', Said),
            startsWith(Reason, 'exception.') AND match(Said, '^[A-Za-z_][A-Za-z0-9_.]{0,63}$'), Said,
            Reason
        ) AS Error
    FROM overclaim_calls FINAL
    WHERE
        Started >= toDateTime({earliest:UInt32}, 'UTC') - INTERVAL 1 HOUR
        AND Started <= (SELECT max(Ended) FROM runs) + INTERVAL 1 HOUR
        AND (TraceId, RunSpanId) IN (
            SELECT
                TraceId,
                RunSpanId
            FROM runs
        )
),

seen AS (
    SELECT
        TraceId,
        RunSpanId,
        ('run', '', '') AS What
    FROM runs
    UNION ALL
    SELECT DISTINCT
        TraceId,
        RunSpanId,
        arrayJoin(
            arrayFilter(
                what -> what.1 = 'tool' OR what.3 != '',
                arrayConcat(
                    [('tool', toString(Tool), ''), ('error', toString(Tool), Error)],
                    arrayMap(name -> ('argument', toString(Tool), toString(name)), ArgumentNames)
                )
            )
        ) AS What
    FROM calls
)

SELECT
    seen.What.1 AS Kind,
    runs.ServiceName AS ServiceName,
    runs.Environment AS Environment,
    runs.Agent AS Agent,
    seen.What.2 AS Tool,
    seen.What.3 AS Value,
    toStartOfHour(toDateTime(runs.Started, 'UTC')) AS Hour,
    toStartOfFifteenMinutes(toDateTime(runs.Ended, 'UTC')) AS Tick,
    count() AS Runs,
    min(runs.Started) AS First,
    argMin(seen.TraceId, (runs.Started, seen.TraceId)) AS FirstTrace,
    max(runs.Started) AS Last,
    argMax(seen.TraceId, (runs.Started, seen.TraceId)) AS LastTrace,
    {version:UInt64} AS Version
FROM seen
INNER JOIN runs ON seen.TraceId = runs.TraceId AND seen.RunSpanId = runs.RunSpanId
GROUP BY Kind, ServiceName, Environment, Agent, Tool, Value, Hour, Tick
