-- Traces that received spans between two arrivals (Unix milliseconds, both included), one row per trace and arrival.
SELECT DISTINCT
    TraceId,
    toUnixTimestamp64Milli(Arrived) AS ArrivedMs
FROM overclaim_inbox
WHERE
    Arrived >= fromUnixTimestamp64Milli({since:Int64})
    AND Arrived <= fromUnixTimestamp64Milli({until:Int64})
    AND TraceId != ''
ORDER BY ArrivedMs, TraceId
