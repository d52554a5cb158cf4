-- When the first span of a trace arrived, by the clock of the store: its runs are seen by the normals that were known
-- then. Rows of one trace are merged in the background, so readers aggregate.
CREATE TABLE IF NOT EXISTS overclaim_arrivals -- noqa: PRS
(
    TraceId String COMMENT 'the trace' CODEC (ZSTD(1)),
    Arrived SimpleAggregateFunction(min, DateTime64(3)) COMMENT 'when its first spans arrived' CODEC (ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY TraceId
TTL toDate(Arrived) + INTERVAL 365 DAY
SETTINGS index_granularity = 512, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS overclaim_arrivals_mv TO overclaim_arrivals AS
SELECT
    TraceId,
    now64(3) AS Arrived
FROM otel_traces
GROUP BY TraceId;
