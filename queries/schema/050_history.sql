-- The spans of the last seven days that were here before our views were. Where the stock Collector made otel_traces,
-- its traces are entered as if they had arrived in the last ten minutes, spread over them to be judged piece by
-- piece. What our views have seen is left out, so in a store of our own this enters nothing.
INSERT INTO overclaim_inbox (Arrived, TraceId, Spans, Earliest, Latest)
SELECT
    now64(3) - toIntervalMillisecond(cityHash64(TraceId) % 600000) AS Arrived,
    TraceId,
    toUInt32(count()) AS Spans,
    min(Timestamp) AS Earliest,
    max(Timestamp) AS Latest
FROM otel_traces
WHERE
    Timestamp >= now() - INTERVAL 7 DAY
    AND TraceId GLOBAL NOT IN (SELECT TraceId FROM overclaim_traces WHERE Latest >= now() - INTERVAL 8 DAY)
GROUP BY TraceId;

INSERT INTO overclaim_arrivals (TraceId, Arrived)
SELECT
    TraceId,
    now64(3) AS Arrived
FROM otel_traces
WHERE
    Timestamp >= now() - INTERVAL 7 DAY
    AND TraceId GLOBAL NOT IN (SELECT TraceId FROM overclaim_traces WHERE Latest >= now() - INTERVAL 8 DAY)
GROUP BY TraceId;

-- Last, since it is what tells the others which traces are new.
INSERT INTO overclaim_traces (TraceId, Earliest, Latest, Spans, Seen)
SELECT
    TraceId,
    min(Timestamp) AS Earliest,
    max(Timestamp) AS Latest,
    toUInt64(count()) AS Spans,
    now() AS Seen
FROM otel_traces
WHERE
    Timestamp >= now() - INTERVAL 7 DAY
    AND TraceId GLOBAL NOT IN (SELECT TraceId FROM overclaim_traces WHERE Latest >= now() - INTERVAL 8 DAY)
GROUP BY TraceId;
