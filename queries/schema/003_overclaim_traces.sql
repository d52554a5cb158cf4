-- Where to look for a trace: the time in which its spans start, found by its id. Without it, reading one trace again
-- would search the whole history. Rows of one trace are merged in the background, so readers aggregate.
CREATE TABLE IF NOT EXISTS overclaim_traces
(
    TraceId String COMMENT 'the trace' CODEC (ZSTD(1)),
    Earliest SimpleAggregateFunction(min, DateTime64(9)) COMMENT 'start of its first span' CODEC (ZSTD(1)),
    Latest SimpleAggregateFunction(max, DateTime64(9)) COMMENT 'start of its last span' CODEC (ZSTD(1)),
    Spans SimpleAggregateFunction(sum, UInt64) COMMENT 'spans received, repeated ones included' CODEC (ZSTD(1)),
    Seen SimpleAggregateFunction(max, DateTime) COMMENT 'when spans of it last arrived' CODEC (ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY TraceId
TTL Seen + INTERVAL 365 DAY
SETTINGS index_granularity = 512, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS overclaim_traces_mv TO overclaim_traces AS
SELECT
    TraceId,
    min(Timestamp) AS Earliest,
    max(Timestamp) AS Latest,
    toUInt64(count()) AS Spans,
    now() AS Seen
FROM otel_traces
GROUP BY TraceId;
