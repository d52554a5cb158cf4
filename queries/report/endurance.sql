-- Whether agents get worse as runs get longer: one row per service, agent, signal and number of steps.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: runs that started then or later
--   rows UInt32 = 1000: how many rows at most
-- How to read it: "call fails" has the calls at these steps of their runs, the first being 1 (All), and of them those
-- that failed (Bad). "left failed" has the runs with so many calls, and those of them in which a failure was never
-- mended; "overclaims" those whose verdict accuses them. Share is Bad of All in percent, Low to High its 95 % Wilson
-- interval; for calls it takes into account that those of one run are not independent. Calls of unknown outcome and
-- incomplete runs are left out.
WITH
-- The interval for a share; half of 1.96 squared is 1.92.
arrayMap(
    way -> abs(
        round(100 * (Rate * N + 1.9207 + way * sqrt(3.8415 * Rate * N * (1 - Rate) + 3.6892)) / (N + 3.8415), 1)
    ),
    [-1, 1]
) AS Ends,

-- What a run adds to a row: All of its calls, or itself; Bad of them.
parts AS (
    SELECT
        ServiceName,
        Agent,
        'call fails' AS Signal,
        toUInt8(least(ceil(log2(Position + 1)), 6)) + 1 AS Bin,
        TraceId,
        RunSpanId,
        count() AS Its,
        countIf(Observed = 'failure' AND Grade != 'suspect') AS ItsBad
    FROM overclaim_calls FINAL
    WHERE Observed != 'unknown' AND Started >= {since:DateTime64(3, 'UTC')}
    GROUP BY ServiceName, Agent, Bin, TraceId, RunSpanId
    UNION ALL
    SELECT
        runs.ServiceName AS ServiceName,
        runs.Agent AS Agent,
        arrayJoin(['left failed', 'overclaims']) AS Signal,
        if(runs.Calls = 0, 0, toUInt8(least(ceil(log2(runs.Calls)), 6)) + 1) AS Bin,
        runs.TraceId AS TraceId,
        runs.SpanId AS RunSpanId,
        1 AS Its,
        if(
            Signal = 'overclaims',
            verdicts.Label IN ('contradicted', 'unsupported', 'pending'),
            (runs.TraceId, runs.SpanId) IN (
                SELECT
                    TraceId,
                    RunSpanId
                FROM overclaim_failures FINAL
                WHERE NOT Mended AND Started >= {since:DateTime64(3, 'UTC')}
            )
        ) AS ItsBad
    FROM overclaim_runs AS runs FINAL
    INNER JOIN overclaim_run_verdicts AS verdicts
        ON runs.TraceId = verdicts.TraceId AND runs.SpanId = verdicts.RunSpanId
    WHERE
        runs.Complete
        AND verdicts.Label != 'incomplete'
        AND runs.Started >= {since:DateTime64(3, 'UTC')}
        AND verdicts.Started >= {since:DateTime64(3, 'UTC')}
),

-- N: for how many independent calls these count, since those of a run fail together: by how much the sums over runs
-- vary, against how much they would if all were independent. With one run, or no call of either kind, nothing tells:
-- then a run counts for one.
counts AS (
    SELECT
        ServiceName,
        Agent,
        Signal,
        Bin,
        count() AS Runs,
        sum(Its) AS All,
        sum(ItsBad) AS Bad,
        Bad / All AS Rate,
        sum(pow(ItsBad, 2)) - 2 * Rate * sum(ItsBad * Its) + pow(Rate, 2) * sum(pow(Its, 2)) AS Squares,
        Squares / (All * Rate * (1 - Rate)) AS Spread,
        multiIf(Signal != 'call fails', 1, Runs = 1 OR Bad IN (0, All), All / Runs, Spread * Runs / (Runs - 1)) AS Wide,
        All / greatest(1, Wide) AS N
    FROM parts
    GROUP BY ServiceName, Agent, Signal, Bin
)

SELECT
    ServiceName AS Service,
    Agent,
    Signal,
    ['0', '1', '2', '3-4', '5-8', '9-16', '17-32', '33-'][Bin + 1] AS Steps,
    Runs,
    All,
    Bad,
    round(100 * Rate, 1) AS Share,
    Ends[1] AS Low,
    Ends[2] AS High
FROM counts
ORDER BY Service ASC, Agent ASC, Signal ASC, Bin ASC
LIMIT {rows:UInt32}
