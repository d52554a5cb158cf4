-- The hours (Unix seconds) in which runs started that are to be judged again, from a moment on (Unix nanoseconds), with
-- how many traces they have.
SELECT
    toInt64(toUnixTimestamp(toStartOfHour(Started))) AS Hour,
    uniqExact(TraceId) AS Traces
FROM overclaim_runs
WHERE Started >= fromUnixTimestamp64Nano({since:Int64})
GROUP BY Hour
ORDER BY Hour
