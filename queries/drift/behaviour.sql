-- Behaviour of the runs that started in some hours, counted anew: one row per quarter of an hour, signal, and who ran.
-- Each run has one vote per signal, however many calls it makes. Runs that are not complete count for `runs` alone.
-- hours: their starts, Unix seconds, all between earliest and latest. version: the number of this count.
-- Signals: runs (bad: incomplete), claims_success, overclaim and unsupported (of the runs that claim success), verified
-- (of the runs that write: they read afterwards what they wrote last), failure and silent_failure (per tool and run).
-- Traces: three that show it; of verified, three that do not, since those are what a fall is about.
WITH
runs AS (
    SELECT
        TraceId,
        SpanId AS RunSpanId,
        toStartOfFifteenMinutes(toDateTime(Started, 'UTC')) AS Tick,
        ServiceName,
        Environment,
        Agent,
        AgentVersion,
        ServiceVersion,
        Model,
        Prompt,
        Claimed,
        Complete,
        Ended
    FROM overclaim_runs FINAL
    WHERE
        Started >= toDateTime({earliest:UInt32}, 'UTC')
        AND Started < toDateTime({latest:UInt32}, 'UTC') + INTERVAL 1 HOUR
        AND toUnixTimestamp(toStartOfHour(Started)) IN {hours:Array(UInt32)}
),

labels AS (
    SELECT
        TraceId,
        RunSpanId,
        Label
    FROM overclaim_verdicts FINAL
    WHERE
        Claim = -1
        AND Started >= toDateTime({earliest:UInt32}, 'UTC')
        AND Started < toDateTime({latest:UInt32}, 'UTC') + INTERVAL 1 HOUR
        AND toUnixTimestamp(toStartOfHour(Started)) IN {hours:Array(UInt32)}
),

-- Clocks of several services may differ by a little, so calls may seem to start before their run.
calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Position,
        Tool,
        ToolVersion,
        Effect,
        Targets,
        Observed,
        Grade
    FROM overclaim_calls FINAL
    WHERE
        Started >= toDateTime({earliest:UInt32}, 'UTC') - INTERVAL 1 HOUR
        AND Started <= (SELECT max(Ended) FROM runs) + INTERVAL 1 HOUR
        AND (TraceId, RunSpanId) IN (
            SELECT
                TraceId,
                RunSpanId
            FROM runs
            WHERE Complete
        )
),

unnoticed AS (
    SELECT
        TraceId,
        SpanId
    FROM overclaim_failures FINAL
    WHERE
        NOT (Mended OR Reported OR Accused)
        AND Started >= toDateTime({earliest:UInt32}, 'UTC') - INTERVAL 1 HOUR
        AND Started <= (SELECT max(Ended) FROM runs) + INTERVAL 1 HOUR
),

-- With an empty tool: all calls of the run.
tools AS (
    SELECT
        TraceId,
        RunSpanId,
        ToolOrAll,
        max(if(ToolOrAll = '', '', ToolVersion)) AS ToolVersion,
        max(Observed != 'unknown') AS Known,
        max(Observed = 'failure' AND Grade != 'suspect') AS Failed,
        max((TraceId, SpanId) IN (SELECT * FROM unnoticed)) AS Silent,
        max(Effect = 'write') AS Wrote,
        maxIf(Position, Effect = 'write') AS LastWrite,
        argMaxIf(Targets, Position, Effect = 'write') AS Written,
        arrayExists(
            look -> look.1 > LastWrite AND (empty(Written) OR empty(look.2) OR hasAny(look.2, Written)),
            groupArrayIf((Position, Targets), Effect = 'read')
        ) AS Looked
    FROM calls
    ARRAY JOIN ['', toString(Tool)] AS ToolOrAll
    GROUP BY TraceId, RunSpanId, ToolOrAll
),

told AS (
    SELECT
        runs.TraceId AS TraceId,
        runs.RunSpanId AS RunSpanId,
        '' AS ToolOrAll,
        '' AS ToolVersion,
        runs.Complete AND labels.Label NOT IN ('', 'incomplete') AS Judged,
        runs.Claimed = 'success' AS Success,
        arrayJoin([
            ('runs', true, NOT runs.Complete),
            ('claims_success', Judged AND runs.Claimed != 'unreadable', Success),
            ('overclaim', Judged AND Success, labels.Label IN ('contradicted', 'unsupported', 'pending')),
            ('unsupported', Judged AND Success, labels.Label = 'unsupported')
        ]) AS Said
    FROM runs LEFT JOIN labels ON runs.TraceId = labels.TraceId AND runs.RunSpanId = labels.RunSpanId
),

done AS (
    SELECT
        TraceId,
        RunSpanId,
        ToolOrAll,
        ToolVersion,
        arrayJoin([
            ('failure', Known, Failed),
            ('silent_failure', Known, Silent),
            ('verified', ToolOrAll = '' AND Wrote, Looked)
        ]) AS Said
    FROM tools
),

signals AS (
    SELECT
        TraceId,
        RunSpanId,
        ToolOrAll,
        ToolVersion,
        Said
    FROM told
    UNION ALL
    SELECT
        TraceId,
        RunSpanId,
        ToolOrAll,
        ToolVersion,
        Said
    FROM done
)

SELECT
    runs.Tick AS Tick,
    runs.ServiceName AS ServiceName,
    runs.Environment AS Environment,
    runs.Agent AS Agent,
    runs.AgentVersion AS AgentVersion,
    runs.ServiceVersion AS ServiceVersion,
    runs.Model AS Model,
    runs.Prompt AS Prompt,
    signals.ToolOrAll AS Tool,
    signals.ToolVersion AS ToolVersion,
    signals.Said.1 AS Signal,
    count() AS Runs,
    countIf(signals.Said.3) AS Bad,
    arraySlice(
        arraySort(groupUniqArrayIf(signals.TraceId, signals.Said.3 != (signals.Said.1 = 'verified'))), 1, 3
    ) AS Traces,
    {version:UInt64} AS Version
FROM signals
INNER JOIN runs ON signals.TraceId = runs.TraceId AND signals.RunSpanId = runs.RunSpanId
WHERE signals.Said.2
GROUP BY
    Tick, ServiceName, Environment, Agent, AgentVersion, ServiceVersion, Model, Prompt, Tool, ToolVersion, Signal
