-- Which traces received spans, and when they arrived: what the detectors have to look at (again). The clock is the
-- store's own, since spans may be late or carry wrong times. One row per trace and insert; rows go after 30 days.
CREATE TABLE IF NOT EXISTS overclaim_inbox
(
    Arrived DateTime64(3) DEFAULT now64(3) COMMENT 'when the store took the spans' CODEC(Delta(8), ZSTD(1)),
    TraceId String COMMENT 'trace that received some' CODEC(ZSTD(1)),
    Spans UInt32 COMMENT 'how many, repeated ones included' CODEC(ZSTD(1)),
    Earliest DateTime64(9) COMMENT 'the first start among them' CODEC(Delta(8), ZSTD(1)),
    Latest DateTime64(9) COMMENT 'the last start among them' CODEC(Delta(8), ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(Arrived)
ORDER BY (Arrived, TraceId)
TTL toDate(Arrived) + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS overclaim_inbox_mv TO overclaim_inbox AS
SELECT
    now64(3) AS Arrived,
    TraceId,
    toUInt32(count()) AS Spans,
    min(Timestamp) AS Earliest,
    max(Timestamp) AS Latest
FROM otel_traces
GROUP BY TraceId;
