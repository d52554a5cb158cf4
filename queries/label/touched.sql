-- Traces that received spans between two arrivals (Unix milliseconds, both included), one row per trace and arrival.
SELECT
    TraceId,
    toUnixTimestamp64Milli(Arrived) AS ArrivedMs,
    sum(Spans) AS Spans
FROM overclaim_inbox
WHERE
    Arrived >= fromUnixTimestamp64Milli({since:Int64})
    AND Arrived <= fromUnixTimestamp64Milli({until:Int64})
    AND TraceId != ''
GROUP BY TraceId, ArrivedMs
ORDER BY ArrivedMs, TraceId
