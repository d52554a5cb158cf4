-- When the first spans of some traces arrived (Unix milliseconds).
SELECT
    TraceId,
    toUnixTimestamp64Milli(min(Arrived)) AS ArrivedMs
FROM overclaim_arrivals
WHERE TraceId IN {traces:Array(String)}
GROUP BY TraceId
ORDER BY TraceId
