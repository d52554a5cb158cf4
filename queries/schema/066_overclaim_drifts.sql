-- Drifts: where behaviour left its reference. The id follows from the stream and when its watch began, so it is the
-- same in every pass and after a restart. Cause: dimension, value, rates then and now, and its part of the change.
CREATE TABLE IF NOT EXISTS overclaim_drifts
(
    DriftId String COMMENT 'hash of stream, direction and beginning of the watch' CODEC (ZSTD(1)),
    Stream String COMMENT 'which stream: overclaim_references.Stream' CODEC (ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'service of the runs',
    Environment LowCardinality(String) COMMENT 'environment of the runs',
    Agent LowCardinality(String) COMMENT 'agent; empty for all of the service',
    Tool LowCardinality(String) COMMENT 'tool; empty for the run as a whole',
    Signal LowCardinality(String) COMMENT 'what is counted: overclaim_behaviour.Signal',
    Level LowCardinality(String) COMMENT 'tool, agent or service',
    Direction Int8 COMMENT '1 for a rise, -1 for a fall',
    State LowCardinality(String) COMMENT 'open, closed or accepted',
    Shown UInt8 COMMENT '1 where the change is large enough to be shown',
    Under String COMMENT 'drift of a tool or agent below that explains it; empty where none does' CODEC (ZSTD(1)),
    AlarmAt DateTime64(3, 'UTC') COMMENT 'when the evidence sufficed' CODEC (Delta(8), ZSTD(1)),
    ChangeAt DateTime('UTC') COMMENT 'when it most likely began' CODEC (Delta(4), ZSTD(1)),
    LogE Float64 COMMENT 'natural logarithm of the evidence',
    LogA Float64 COMMENT 'natural logarithm of the evidence that an alarm takes',
    RefBad UInt64 COMMENT 'runs of the reference in which it happened',
    RefRuns UInt64 COMMENT 'runs of the reference',
    NowBad UInt64 COMMENT 'runs since ChangeAt in which it happened',
    NowRuns UInt64 COMMENT 'runs since ChangeAt',
    Excess Float64 COMMENT 'runs more, or fewer, than the reference lets expect',
    Severity LowCardinality(String) COMMENT 'high, medium or low',
    Cause Array(Tuple(String, String, Float64, Float64, Float64)) COMMENT 'what explains it, most first', -- noqa: CP01
    RateEffect Float64 COMMENT 'part of the change that is worse behaviour',
    MixEffect Float64 COMMENT 'part of the change that is other traffic',
    Marker String COMMENT 'release that came with it; empty where none did' CODEC (ZSTD(1)),
    Traces Array(String) COMMENT 'traces that show it' CODEC (ZSTD(1)),
    ClosedAt DateTime64(3, 'UTC') COMMENT 'when it was closed or accepted; 1970 while open' CODEC (Delta(8), ZSTD(1)),
    Reason String COMMENT 'why it was closed or accepted' CODEC (ZSTD(1)),
    Sentence String COMMENT 'all of it in one sentence, for people' CODEC (ZSTD(1)),
    Version UInt64 COMMENT 'when the row was written, Unix milliseconds; the highest one counts'
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY DriftId;
