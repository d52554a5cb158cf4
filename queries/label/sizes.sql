-- How many spans each of some traces has by now, and in which time they lie (Unix nanoseconds).
SELECT
    TraceId,
    uniqExact(SpanId) AS Spans,
    min(toUnixTimestamp64Nano(Timestamp)) AS Earliest,
    max(toUnixTimestamp64Nano(Timestamp)) AS Latest
FROM otel_traces
WHERE TraceId IN {traces:Array(String)}
GROUP BY TraceId
ORDER BY TraceId
