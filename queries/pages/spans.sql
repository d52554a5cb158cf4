-- The spans of a trace, each once, in the order of their start.
-- Parameters:
--   trace String: the trace
--   rows UInt32: how many rows at most
WITH
bounds AS (
    SELECT
        min(Earliest) AS First,
        max(Latest) AS Last
    FROM overclaim_traces
    WHERE TraceId = {trace:String}
),

spans AS (
    SELECT
        SpanId,
        ParentSpanId,
        SpanName AS Name,
        ServiceName AS Service,
        toUnixTimestamp64Nano(Timestamp) AS Start,
        Duration,
        StatusCode AS Status,
        StatusMessage AS Message
    FROM overclaim_spans
    WHERE
        TraceId = {trace:String}
        AND Timestamp >= (SELECT First FROM bounds)
        AND Timestamp <= (SELECT Last FROM bounds)
    ORDER BY SpanId ASC, Start ASC, Duration DESC
    LIMIT 1 BY SpanId
)

SELECT *
FROM spans
ORDER BY Start ASC, SpanId ASC
LIMIT {rows:UInt32}
