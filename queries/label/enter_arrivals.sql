-- Enters when the first spans of the traces arrived that received some between two arrivals (Unix milliseconds, both
-- included). The earliest moment counts, so a piece may be entered again. Rows that stand for log records (Spans = 0)
-- say nothing about spans.
INSERT INTO overclaim_arrivals (TraceId, Arrived)
SELECT
    TraceId,
    min(Arrived) AS FirstArrived
FROM overclaim_inbox
WHERE
    Arrived >= fromUnixTimestamp64Milli({since:Int64})
    AND Arrived <= fromUnixTimestamp64Milli({until:Int64})
    AND TraceId != ''
    AND Spans > 0
GROUP BY TraceId
