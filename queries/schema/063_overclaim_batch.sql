-- The traces that a pass works on together, for its own queries: they read a table far faster than a list of names in
-- the statement. Rows go within two days.
CREATE TABLE IF NOT EXISTS overclaim_batch
(
    Pass UInt64 COMMENT 'number of the pass: the Version of the rows that it writes' CODEC (Delta(8), ZSTD(1)),
    Part UInt32 COMMENT 'which batch of the pass: a hash of its traces' CODEC (ZSTD(1)),
    TraceId String COMMENT 'trace to work on' CODEC (ZSTD(1)),
    Made DateTime DEFAULT now() COMMENT 'when the batch was made' CODEC (Delta(4), ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toDate(Made)
ORDER BY (Pass, Part, TraceId)
TTL toDate(Made) + INTERVAL 2 DAY
SETTINGS ttl_only_drop_parts = 1;
