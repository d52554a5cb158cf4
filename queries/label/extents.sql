-- In which time the spans of some traces start (Unix nanoseconds), and at most how many there are: those counted when
-- the trace was last read, and all that arrived since, repeated ones included.
-- What arrived between since and until (Unix milliseconds) is not counted yet or may just have been, so the number is
-- too high rather than too low.
-- Rows of the inbox that stand for log records (Spans = 0) say nothing about spans; a trace of log records alone has no
-- extent.
WITH
known AS (
    SELECT
        TraceId,
        max(Spans) AS Counted,
        min(Earliest) AS First,
        max(Latest) AS Last
    FROM overclaim_traces
    WHERE TraceId IN {traces:Array(String)}
    GROUP BY TraceId
),

arrived AS (
    SELECT
        TraceId,
        toUInt64(sum(Spans)) AS Counted,
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
    sum(either.Counted) AS Received,
    toUnixTimestamp64Nano(min(either.First)) AS First,
    toUnixTimestamp64Nano(max(either.Last)) AS Last
FROM either
GROUP BY TraceId
ORDER BY TraceId
