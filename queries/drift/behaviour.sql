-- Behaviour of the runs that started in some hours, counted anew: one row per quarter of an hour, signal, and who ran.
-- Each run has one vote per signal, however many calls it makes. Runs that are not complete count for `runs` alone.
-- hours: their starts, Unix seconds, all between earliest and latest. version: the number of this count.
-- Signals: runs (bad: incomplete), claims_success, overclaim and unsupported (of the runs that claim success), verified
-- (of the runs that write: they read afterwards what they wrote last), failure and silent_failure (per tool and run).
-- Measured: run_time and latency (of a call of the tool in the run, on average), in milliseconds, tokens, steps (calls)
-- and retries (calls beyond the first for the same thing). Values has runs by eighths of a power of two, 0 as -1000.
-- With categories: tool_mix (tools that the run called), ending (what it told its user, of the runs that do not claim
-- success) and error_type (what its failed calls failed with, of the runs with a failure, per tool).
-- Traces: three that show it, or have the largest values; of verified, three that do not, since those are what a fall
-- is about.
WITH
(v -> toInt16(if(v > 0, floor(8 * log2(v)), -1000.))) AS bin,

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
        Calls,
        InputTokens + OutputTokens AS Tokens,
        Complete,
        Started,
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
        Operation,
        Effect,
        Targets,
        Observed,
        Grade,
        Duration,
        if(
            Observed = 'failure' AND Grade != 'suspect',
            arrayFirst(
                fact -> fact.3 = 'failure' AND fact.4 != 'suspect',
                arrayZip(EvidenceKind, EvidenceValue, EvidenceOutcome, EvidenceGrade)
            ),
            ('', '', '', '')
        ) AS Fact,
        -- Names and codes only: findings go out, and content does not.
        if(
            match(Fact.2, '^([A-Za-z_][A-Za-z0-9_.]{0,39}|-?[0-9]{1,4})$'),
            concat(toString(Fact.1), ' ', Fact.2),
            toString(Fact.1)
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
        ) AS Looked,
        avgIf(Duration, Duration > 0) / 1e6 AS Latency,
        toInt64(countIf(Operation != '')) - toInt64(uniqExactIf(Operation, Operation != '')) AS Again,
        groupUniqArrayIf(toString(Tool), ToolOrAll = '') AS Tools,
        groupUniqArrayIf(Error, Error != '') AS Errors
    FROM calls
    ARRAY JOIN ['', toString(Tool)] AS ToolOrAll
    GROUP BY TraceId, RunSpanId, ToolOrAll
),

-- What is said of a run: the signal, whether it can be told, whether it happened, bins and categories.
told AS (
    SELECT
        runs.TraceId AS TraceId,
        runs.RunSpanId AS RunSpanId,
        '' AS ToolOrAll,
        '' AS ToolVersion,
        runs.Complete AND labels.Label NOT IN ('', 'incomplete') AS Judged,
        runs.Claimed = 'success' AS Success,
        dateDiff('microsecond', runs.Started, runs.Ended) / 1000 AS Took,
        arrayJoin([
            ('runs', true, NOT runs.Complete, emptyArrayInt16(), emptyArrayString()),
            ('claims_success', Judged AND runs.Claimed != 'unreadable', Success, [], []),
            ('overclaim', Judged AND Success, labels.Label IN ('contradicted', 'unsupported', 'pending'), [], []),
            ('unsupported', Judged AND Success, labels.Label = 'unsupported', [], []),
            ('run_time', runs.Complete AND Took > 0, false, [bin(Took)], []),
            ('tokens', runs.Complete AND runs.Tokens > 0, false, [bin(runs.Tokens)], []),
            ('steps', runs.Complete, false, [bin(runs.Calls)], []),
            ('retries', runs.Complete, false, [bin(whole.Again)], []),
            ('tool_mix', runs.Complete, false, [], whole.Tools),
            (
                'ending', runs.Complete AND runs.Claimed NOT IN ('', 'unreadable', 'success'), false, [],
                [toString(runs.Claimed)]
            )
        ]) AS Said
    FROM runs
    LEFT JOIN labels ON runs.TraceId = labels.TraceId AND runs.RunSpanId = labels.RunSpanId
    LEFT JOIN tools AS whole
        ON runs.TraceId = whole.TraceId AND runs.RunSpanId = whole.RunSpanId AND whole.ToolOrAll = ''
),

done AS (
    SELECT
        TraceId,
        RunSpanId,
        ToolOrAll,
        ToolVersion,
        arrayJoin([
            ('failure', Known, Failed, emptyArrayInt16(), emptyArrayString()),
            ('silent_failure', Known, Silent, [], []),
            ('error_type', Failed, false, [], Errors),
            ('latency', ToolOrAll != '' AND Latency > 0, false, [bin(Latency)], []),
            ('verified', ToolOrAll = '' AND Wrote, Looked, [], [])
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
    mapFromArrays(
        tupleElement(sumMap(signals.Said.4, arrayWithConstant(length(signals.Said.4), toUInt32(1))), 1),
        tupleElement(sumMap(signals.Said.4, arrayWithConstant(length(signals.Said.4), toUInt32(1))), 2)
    ) AS Values,
    mapFromArrays(
        tupleElement(sumMap(signals.Said.5, arrayWithConstant(length(signals.Said.5), toUInt32(1))), 1),
        tupleElement(sumMap(signals.Said.5, arrayWithConstant(length(signals.Said.5), toUInt32(1))), 2)
    ) AS Categories,
    if(
        notEmpty(Values),
        arrayMap(
            largest -> largest.2,
            arraySlice(arrayReverseSort(groupUniqArray((signals.Said.4[1], signals.TraceId))), 1, 3)
        ),
        arraySlice(
            arraySort(groupUniqArrayIf(signals.TraceId, signals.Said.3 != (signals.Said.1 = 'verified'))), 1, 3
        )
    ) AS Traces,
    {version:UInt64} AS Version
FROM signals
INNER JOIN runs ON signals.TraceId = runs.TraceId AND signals.RunSpanId = runs.RunSpanId
WHERE signals.Said.2
GROUP BY
    Tick, ServiceName, Environment, Agent, AgentVersion, ServiceVersion, Model, Prompt, Tool, ToolVersion, Signal
