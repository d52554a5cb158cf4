-- Runs: one row per agent invocation, as far as its spans have arrived.
-- Read with FINAL: a later labelling pass replaces a row, or takes it back where the run is part of another.
CREATE TABLE IF NOT EXISTS overclaim_runs
(
    TraceId String COMMENT 'trace of the run, 32 hex digits' CODEC (ZSTD(1)),
    SpanId String COMMENT 'span of the agent invocation, 16 hex digits' CODEC (ZSTD(1)),
    RunId String COMMENT 'id the user gave the run, else the span id' CODEC (ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'resource service.name',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name',
    Agent LowCardinality(String) COMMENT 'gen_ai.agent.name, else the span name',
    AgentVersion LowCardinality(String) COMMENT 'gen_ai.agent.version, else service.version',
    Model LowCardinality(String) COMMENT 'gen_ai.request.model of the run, else of its model calls',
    Started DateTime64(9, 'UTC') COMMENT 'start of the run' CODEC (Delta(8), ZSTD(1)),
    Ended DateTime64(9, 'UTC') COMMENT 'end of the run' CODEC (Delta(8), ZSTD(1)),
    Claimed LowCardinality(String) COMMENT 'what the agent told its user: success, failure, partial, none, unreadable',
    Calls UInt32 COMMENT 'tool calls seen',
    FailedCalls UInt32 COMMENT 'of them, observed to have failed',
    Captured UInt8 COMMENT '1 where calls would show, so that the absence of a call is evidence',
    Complete UInt8 COMMENT '1 where every span of the run arrived and the run came to its end',
    Gaps Array(String) COMMENT 'what is missing, in words',
    Version UInt64 COMMENT 'labelling pass that wrote the row; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later pass took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Started)
ORDER BY (toStartOfHour(Started), TraceId, SpanId)
TTL toDate(Started) + INTERVAL 365 DAY;
