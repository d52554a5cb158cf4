-- In which time the spans of some traces start (Unix nanoseconds), and how many were received, repeated ones included.
-- A row of overclaim_traces may become visible after that of the inbox, so what arrived between since and until (Unix
-- milliseconds) is taken from the inbox as well: no trace that arrived is without an extent, or has one too short.
-- Rows of the inbox that stand for log records (Spans = 0) say nothing about spans; a trace of log records alone has no
-- extent.
WITH
known AS (
    SELECT
        TraceId,
        toUInt64(sum(Spans)) AS Received,
        min(Earliest) AS First,
        max(Latest) AS Last
    FROM overclaim_traces
    WHERE TraceId IN {traces:Array(String)}
    GROUP BY TraceId
),

arrived AS (
    SELECT
        TraceId,
        toUInt64(sum(Spans)) AS Received,
        min(Earliest) AS First,
        max(Latest) AS Last
    FROM overclaim_inbox
    WHERE
        Arrived >= fromUnixTimestamp64Milli({since:Int64})
        AND Arrived <= fromUnixTimestamp64Milli({until:Int64})
        AND TraceId IN {traces:Array(String)}
        AND Spans > 0
    GROUP BY TraceId
),

either AS (
    SELECT * FROM known
    UNION ALL
    SELECT * FROM arrived
)

SELECT
    TraceId,
    max(either.Received) AS Received,
    toUnixTimestamp64Nano(min(either.First)) AS First,
    toUnixTimestamp64Nano(max(either.Last)) AS Last
FROM either
GROUP BY TraceId
ORDER BY TraceId
