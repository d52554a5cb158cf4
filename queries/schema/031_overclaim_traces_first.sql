-- When the first span of a trace arrived: a run is seen by the normals that were known then. Of traces from before this
-- column, the time at which spans of it last arrived by then is taken.
ALTER TABLE overclaim_traces
    ADD COLUMN IF NOT EXISTS First SimpleAggregateFunction(min, DateTime64(3)) DEFAULT toDateTime64(Seen, 3)
    COMMENT 'when its first spans arrived' CODEC (ZSTD(1));

ALTER TABLE overclaim_traces_mv MODIFY QUERY
SELECT
    TraceId,
    min(Timestamp) AS Earliest,
    max(Timestamp) AS Latest,
    toUInt64(count()) AS Spans,
    now() AS Seen,
    now64(3) AS First
FROM otel_traces
GROUP BY TraceId;
