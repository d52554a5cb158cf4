-- What was mended, by operation: what judging of a pass found before it writes overclaim_operations, and only for runs
-- in which something did not end well and something did. Rows go within two days.
CREATE TABLE IF NOT EXISTS overclaim_ways
(
    Pass UInt64 COMMENT 'number of the pass: the Version of the rows that it writes' CODEC (Delta(8), ZSTD(1)),
    TraceId String COMMENT 'trace of the run' CODEC (ZSTD(1)),
    RunSpanId String COMMENT 'run it belongs to: overclaim_runs.SpanId' CODEC (ZSTD(1)),
    Operation String COMMENT 'what was done to what: overclaim_calls.Operation' CODEC (ZSTD(1)),
    Mended Array(String) COMMENT 'its attempts that a later call mended: overclaim_calls.SpanId' CODEC (ZSTD(1)),
    Mending Array(String) COMMENT 'its attempts that mended one' CODEC (ZSTD(1)),
    Made DateTime DEFAULT now() COMMENT 'when it was found' CODEC (Delta(4), ZSTD(1))
)
ENGINE = ReplacingMergeTree(Made)
PARTITION BY toDate(Made)
ORDER BY (Pass, TraceId, RunSpanId, Operation)
TTL toDate(Made) + INTERVAL 2 DAY
SETTINGS ttl_only_drop_parts = 1;
