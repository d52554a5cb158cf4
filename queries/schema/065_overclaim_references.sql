-- References: what each stream of behaviour is compared with. A stream is one signal of one tool, agent or service.
CREATE TABLE IF NOT EXISTS overclaim_references
(
    Stream String COMMENT 'hash of what follows up to Level and of the kind of reference' CODEC (ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'service of the runs',
    Environment LowCardinality(String) COMMENT 'environment of the runs',
    Agent LowCardinality(String) COMMENT 'agent; empty for all of the service',
    Tool LowCardinality(String) COMMENT 'tool; empty for the run as a whole',
    Signal LowCardinality(String) COMMENT 'what is counted: overclaim_behaviour.Signal',
    Level LowCardinality(String) COMMENT 'tool, agent or service',
    Direction Int8 COMMENT '1 where a rise is watched for, -1 where a fall is',
    FromTick DateTime('UTC') COMMENT 'first quarter of an hour of the reference' CODEC (Delta(4), ZSTD(1)),
    UntilTick DateTime('UTC') COMMENT 'end of the reference, exclusive' CODEC (Delta(4), ZSTD(1)),
    Runs UInt64 COMMENT 'runs in the reference' CODEC (T64, ZSTD(1)),
    Bad UInt64 COMMENT 'of them, those in which it happened' CODEC (T64, ZSTD(1)),
    Threshold Int16 COMMENT 'for what is measured: the bin from which on a run counts as bad',
    A Array(Float64) COMMENT 'weight of bad runs in the prior of each block' CODEC (ZSTD(1)),
    B Array(Float64) COMMENT 'weight of good runs in the prior of each block' CODEC (ZSTD(1)),
    Deff Float64 COMMENT 'how many runs count as one, since runs come in clusters',
    Tau Float64 COMMENT 'by how much the rate wanders from day to day',
    Blocks UInt8 COMMENT 'how many times of the day are told apart: 1, 8 or 16',
    Checks String COMMENT 'what was tested on the reference, in words' CODEC (ZSTD(1)),
    Since DateTime('UTC') COMMENT 'from when on runs are compared with it' CODEC (Delta(4), ZSTD(1)),
    Reason LowCardinality(String) COMMENT 'why it was taken: first, release, accepted, quiet or rebased',
    Marker String COMMENT 'what was new where a release gave the reason' CODEC (ZSTD(1)),
    Version UInt64 COMMENT 'when it was taken, Unix milliseconds; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where the stream has no reference any more'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
ORDER BY (Stream, Direction);
