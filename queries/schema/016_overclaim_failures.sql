-- Failures: one row per call that failed, or that wrote nothing, with who noticed. A mere suspicion is not in here.
CREATE TABLE IF NOT EXISTS overclaim_failures
(
    TraceId String COMMENT 'trace of the call' CODEC (ZSTD(1)),
    RunSpanId String COMMENT 'run it belongs to: overclaim_runs.SpanId' CODEC (ZSTD(1)),
    SpanId String COMMENT 'the call: overclaim_calls.SpanId' CODEC (ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Tool LowCardinality(String) COMMENT 'name of the tool',
    Effect LowCardinality(String) COMMENT 'read, write or unknown',
    Claimed LowCardinality(String) COMMENT 'what the tool told the agent',
    Observed LowCardinality(String) COMMENT 'failure, or empty for a write that touched nothing',
    RunClaimed LowCardinality(String) COMMENT 'what the agent told its user about the run',
    SpanStatus LowCardinality(String) COMMENT 'status of the tool span: Unset, Ok or Error',
    Mended UInt8 COMMENT '1 where a later call brought the operation to a good end',
    Reported UInt8 COMMENT '1 where the agent told its user that it failed',
    Accused UInt8 COMMENT '1 where a claim was found to contradict it',
    EvidenceRule LowCardinality(String) COMMENT 'rule that read the most telling fact',
    EvidenceValue String COMMENT 'that fact, such as 400' CODEC (ZSTD(1)),
    EvidenceSpanId String COMMENT 'span that shows it, which may be a child of the call' CODEC (ZSTD(1)),
    Started DateTime64(9, 'UTC') COMMENT 'start of the call' CODEC (Delta(8), ZSTD(1)),
    Version UInt64 COMMENT 'pass that judged; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later pass took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Started)
ORDER BY (toStartOfHour(Started), TraceId, SpanId)
TTL toDate(Started) + INTERVAL 365 DAY;
