-- Drift streams: where each stream stands against its reference, so that reports need not work it out again.
CREATE TABLE IF NOT EXISTS overclaim_drift_streams
(
    Stream String COMMENT 'which stream: overclaim_references.Stream' CODEC (ZSTD(1)),
    Direction Int8 COMMENT '1 where a rise is watched for, -1 where a fall is',
    ServiceName LowCardinality(String) COMMENT 'service of the runs',
    Environment LowCardinality(String) COMMENT 'environment of the runs',
    Agent LowCardinality(String) COMMENT 'agent; empty for all of the service',
    Tool LowCardinality(String) COMMENT 'tool; empty for the run as a whole',
    Signal LowCardinality(String) COMMENT 'what is counted: overclaim_behaviour.Signal',
    Level LowCardinality(String) COMMENT 'tool, agent or service',
    LogSum Float64 COMMENT 'natural logarithm of the evidence so far',
    LogA Float64 COMMENT 'natural logarithm of the evidence that an alarm takes',
    ChangeAt DateTime('UTC') COMMENT 'when a change would most likely have begun' CODEC (Delta(4), ZSTD(1)),
    Bad UInt64 COMMENT 'runs since then in which it happened',
    Runs UInt64 COMMENT 'runs since then',
    SmallestChange Float64 COMMENT 'smallest change of the rate that would be seen within a week',
    Ticks UInt32 COMMENT 'quarters of an hour with runs that were looked at',
    UntilTick DateTime('UTC') COMMENT 'up to where' CODEC (Delta(4), ZSTD(1)),
    Version UInt64 COMMENT 'when the row was written, Unix milliseconds; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where it is no longer watched'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
ORDER BY (Stream, Direction);
