-- Detector states: what each detector could look at in each service, and if not, why not.
CREATE TABLE IF NOT EXISTS overclaim_detector_states
(
    Detector LowCardinality(String) COMMENT 'id of a rule, or the name of a signal',
    ServiceName LowCardinality(String) COMMENT 'service that it looked at',
    State LowCardinality(String) COMMENT 'ran, partial or could not',
    Why String COMMENT 'what it lacked; empty where it ran' CODEC (ZSTD(1)),
    Runs UInt64 COMMENT 'runs that it could look at' CODEC (T64, ZSTD(1)),
    Seen UInt64 COMMENT 'runs that there were' CODEC (T64, ZSTD(1)),
    SmallestChange Float64 COMMENT 'smallest change of a rate that it would see within a week; 0 where it has no rate',
    At DateTime64(3, 'UTC') COMMENT 'when' CODEC (Delta(8), ZSTD(1)),
    Version UInt64 COMMENT 'pass that wrote the row; the highest one counts'
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY (Detector, ServiceName);
