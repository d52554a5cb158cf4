-- What could be judged and what could not: one row per service and agent. "No finding" is not "clean".
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: runs that started then or later
--   rows UInt32 = 1000: how many rows at most
-- Incomplete runs are never accused; Gaps says what they lack. Where calls are not captured, a claim without a call
-- accuses nobody. Calls of unknown outcome returned nothing that could be read. Runs that claim nothing, or in a
-- language that is not read, cannot overclaim.
WITH
runs AS (
    SELECT
        ServiceName,
        Agent,
        count() AS Runs,
        countIf(Complete = 0) AS Incomplete,
        countIf(Captured = 0) AS NotCaptured,
        countIf(Claimed = 'none') AS ClaimNothing,
        countIf(Claimed = 'unreadable') AS Unreadable,
        sumMap(Gaps, arrayMap(gap -> 1, Gaps)) AS ByGap,
        max(Ended) AS LastRun
    FROM overclaim_runs FINAL
    WHERE Started >= {since:DateTime64(3, 'UTC')}
    GROUP BY ServiceName, Agent
),

calls AS (
    SELECT
        ServiceName,
        Agent,
        count() AS Calls,
        countIf(Observed = 'unknown') AS UnknownCalls,
        countIf(Grade = 'structured') AS StructuredCalls
    FROM overclaim_calls FINAL
    WHERE Started >= {since:DateTime64(3, 'UTC')}
    GROUP BY ServiceName, Agent
)

SELECT
    runs.ServiceName AS Service,
    runs.Agent AS Agent,
    runs.Runs AS Runs,
    runs.Incomplete AS Incomplete,
    runs.NotCaptured AS NotCaptured,
    runs.ClaimNothing AS ClaimNothing,
    runs.Unreadable AS Unreadable,
    calls.Calls AS Calls,
    calls.UnknownCalls AS UnknownCalls,
    calls.StructuredCalls AS StructuredCalls,
    arrayStringConcat(
        arrayMap((gap, times) -> concat(gap, ' ', toString(times)), runs.ByGap.1, runs.ByGap.2), ', '
    ) AS Gaps,
    runs.LastRun AS LastRun
FROM runs
LEFT JOIN calls ON runs.ServiceName = calls.ServiceName AND runs.Agent = calls.Agent
ORDER BY Runs DESC, Service ASC, Agent ASC
LIMIT {rows:UInt32}
