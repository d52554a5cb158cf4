-- Items that were refused, so that nothing disappears without a trace: why, how many, and as much of them as fits.
-- A row is one item, or what else of a request was refused for the same reason; rows go after 30 days.
CREATE TABLE IF NOT EXISTS overclaim_quarantine
(
    Received DateTime64(3) DEFAULT now64(3) COMMENT 'when it was refused' CODEC (Delta(8), ZSTD(1)),
    Signal LowCardinality(String) COMMENT 'traces or logs' CODEC (ZSTD(1)),
    Reason String COMMENT 'why it cannot be kept' CODEC (ZSTD(1)),
    Items UInt32 COMMENT 'how many spans or log records the row stands for' CODEC (ZSTD(1)),
    Content String COMMENT 'protobuf, or JSON where it could not be read; cut, or empty, where too long' CODEC (ZSTD(3))
)
ENGINE = MergeTree
PARTITION BY toDate(Received)
ORDER BY (Received, Signal)
TTL toDate(Received) + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;
