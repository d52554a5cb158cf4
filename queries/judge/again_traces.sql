-- The traces whose runs started between two moments (Unix nanoseconds, the second one excluded), and in which time all
-- that is known of each lies: from the first to the last start of its spans.
WITH
runs AS (
    SELECT
        TraceId,
        min(Started) AS First,
        max(greatest(Started, Ended)) AS Last
    FROM overclaim_runs
    WHERE
        Started >= fromUnixTimestamp64Nano({since:Int64})
        AND Started < fromUnixTimestamp64Nano({until:Int64})
    GROUP BY TraceId
),

extents AS (
    SELECT
        TraceId,
        min(Earliest) AS First,
        max(Latest) AS Last
    FROM overclaim_traces
    WHERE TraceId IN (SELECT runs.TraceId FROM runs)
    GROUP BY TraceId
),

either AS (
    SELECT * FROM runs
    UNION ALL
    SELECT * FROM extents
)

SELECT
    TraceId,
    toUnixTimestamp64Nano(min(either.First)) AS First,
    toUnixTimestamp64Nano(max(either.Last)) AS Last
FROM either
GROUP BY TraceId
ORDER BY First, TraceId
