-- Deliveries: what was sent where, so that a crash repeats at most what was on its way. One row a receiver and finding;
-- a row with an empty FindingId says up to which pass it got everything. Rows are noted before and after each sending.
CREATE TABLE IF NOT EXISTS overclaim_deliveries
(
    Sink LowCardinality(String) COMMENT 'receiver: its kind, and a hash of its address',
    FindingId String COMMENT 'overclaim_outgoing.FindingId' CODEC (ZSTD(1)),
    Mark UInt64 COMMENT 'overclaim_outgoing.Mark that the receiver has; 0 while it is on its way',
    Open UInt8 COMMENT '1 where the receiver may know it as standing',
    Fate LowCardinality(String) COMMENT 'before (older than the receiver), sending, sent or refused',
    FindingVersion UInt64 COMMENT 'overclaim_outgoing.Version; the highest one counts',
    At DateTime64(3, 'UTC') COMMENT 'when' CODEC (Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree(FindingVersion)
ORDER BY (Sink, FindingId)
TTL toDate(At) + INTERVAL 400 DAY;
