-- How many spans some traces really have, each counted once however often it was delivered.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
SELECT
    TraceId,
    uniqExact(SpanId) AS Spans
FROM otel_traces
WHERE
    TraceId IN {traces:Array(String)}
    AND Timestamp >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Timestamp <= fromUnixTimestamp64Nano({latest:Int64})
GROUP BY TraceId
ORDER BY TraceId
