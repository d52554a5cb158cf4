-- In which time the spans of some traces start (Unix nanoseconds), and how many were received, repeated ones included.
SELECT
    TraceId,
    sum(Spans) AS Received,
    toUnixTimestamp64Nano(min(Earliest)) AS First,
    toUnixTimestamp64Nano(max(Latest)) AS Last
FROM overclaim_traces
WHERE TraceId IN {traces:Array(String)}
GROUP BY TraceId
ORDER BY TraceId
