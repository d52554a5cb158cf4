-- When the first spans of some traces arrived (Unix milliseconds).
SELECT
    TraceId,
    toUnixTimestamp64Milli(min(First)) AS FirstMs
FROM overclaim_traces
WHERE TraceId IN {traces:Array(String)}
GROUP BY TraceId
ORDER BY TraceId
