-- The spans of the last seven days that were here before our views were. Where the stock Collector made otel_traces,
-- its traces are entered as if they had arrived in the last ten minutes, spread over them to be judged piece by
-- piece. What our views have seen is left out, so in a store of our own this enters nothing, and hardly reads anything:
-- what started a day after overclaim_traces was made, or later, cannot have been here before.
-- There may be millions of traces: they are sorted out on the disk where they take more than 64 MiB.
INSERT INTO overclaim_inbox (Arrived, TraceId, Spans, Earliest, Latest)
WITH ( -- noqa: ST03
    SELECT if(count() = 0, now(), min(Applied)) + INTERVAL 1 DAY
    FROM overclaim_migrations
    WHERE Number = 3
) AS Until
SELECT
    now64(3) - toIntervalMillisecond(cityHash64(TraceId) % 600000) AS Arrived,
    TraceId,
    toUInt32(count()) AS Spans,
    min(Start) AS Earliest,
    max(Start) AS Latest
FROM (
    SELECT
        TraceId,
        Timestamp AS Start,
        0 AS Known
    FROM otel_traces
    WHERE Timestamp >= now() - INTERVAL 7 DAY AND Timestamp < Until
    UNION ALL
    SELECT
        TraceId,
        Latest AS Start,
        1 AS Known
    FROM overclaim_traces
    WHERE Latest >= now() - INTERVAL 8 DAY AND Earliest < Until AND Until >= now() - INTERVAL 7 DAY
)
GROUP BY TraceId
HAVING max(Known) = 0
SETTINGS max_threads = 1, max_bytes_before_external_group_by = 67108864, min_insert_block_size_rows = 131072;

INSERT INTO overclaim_arrivals (TraceId, Arrived)
WITH ( -- noqa: ST03
    SELECT if(count() = 0, now(), min(Applied)) + INTERVAL 1 DAY
    FROM overclaim_migrations
    WHERE Number = 3
) AS Until
SELECT
    TraceId,
    now64(3) AS Arrived
FROM (
    SELECT
        TraceId,
        Timestamp AS Start,
        0 AS Known
    FROM otel_traces
    WHERE Timestamp >= now() - INTERVAL 7 DAY AND Timestamp < Until
    UNION ALL
    SELECT
        TraceId,
        Latest AS Start,
        1 AS Known
    FROM overclaim_traces
    WHERE Latest >= now() - INTERVAL 8 DAY AND Earliest < Until AND Until >= now() - INTERVAL 7 DAY
)
GROUP BY TraceId
HAVING max(Known) = 0
SETTINGS max_threads = 1, max_bytes_before_external_group_by = 67108864, min_insert_block_size_rows = 131072;

-- Last, since it is what tells the others which traces are new.
INSERT INTO overclaim_traces (TraceId, Earliest, Latest, Spans, Seen)
WITH ( -- noqa: ST03
    SELECT if(count() = 0, now(), min(Applied)) + INTERVAL 1 DAY
    FROM overclaim_migrations
    WHERE Number = 3
) AS Until
SELECT
    TraceId,
    min(Start) AS Earliest,
    max(Start) AS Latest,
    toUInt64(count()) AS Spans,
    now() AS Seen
FROM (
    SELECT
        TraceId,
        Timestamp AS Start,
        0 AS Known
    FROM otel_traces
    WHERE Timestamp >= now() - INTERVAL 7 DAY AND Timestamp < Until
    UNION ALL
    SELECT
        TraceId,
        Latest AS Start,
        1 AS Known
    FROM overclaim_traces
    WHERE Latest >= now() - INTERVAL 8 DAY AND Earliest < Until AND Until >= now() - INTERVAL 7 DAY
)
GROUP BY TraceId
HAVING max(Known) = 0
SETTINGS max_threads = 1, max_bytes_before_external_group_by = 67108864, min_insert_block_size_rows = 131072;
