-- Tool calls: one row per call with what it claimed, what was observed, and the evidence.
-- Operations and targets are keyed hashes: equal values are attempts at the same thing, and nothing readable is kept.
CREATE TABLE IF NOT EXISTS overclaim_calls
(
    TraceId String COMMENT 'trace of the call' CODEC (ZSTD(1)),
    SpanId String COMMENT 'span of the tool call' CODEC (ZSTD(1)),
    RunSpanId String COMMENT 'run it belongs to: overclaim_runs.SpanId' CODEC (ZSTD(1)),
    Position UInt32 COMMENT 'place among the calls of the run, in the order in which they ended, from 0',
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Tool LowCardinality(String) COMMENT 'name of the tool',
    Action LowCardinality(String) COMMENT 'canonical action, such as create; empty where unknown',
    Operation String COMMENT 'what was done to what; equal for attempts at one thing' CODEC (ZSTD(1)),
    Targets Array(String) COMMENT 'what it was done to' CODEC (ZSTD(1)),
    Effect LowCardinality(String) COMMENT 'read, write or unknown',
    Claimed LowCardinality(String) COMMENT 'what the tool told the agent: success, failure or pending',
    Observed LowCardinality(String) COMMENT 'what the evidence says: success, failure, pending, empty or unknown',
    Grade LowCardinality(String) COMMENT 'strength of the evidence: structured, inferred or suspect',
    EvidenceKind Array(LowCardinality(String)) COMMENT 'one entry per fact: http_status, result_flag, ...',
    EvidenceRule Array(LowCardinality(String)) COMMENT 'rule that read the fact',
    EvidenceValue Array(String) COMMENT 'small value, such as 400' CODEC (ZSTD(1)),
    EvidenceOutcome Array(LowCardinality(String)) COMMENT 'what the fact speaks for: success, failure, ...',
    EvidenceGrade Array(LowCardinality(String)) COMMENT 'structured, inferred or suspect',
    EvidenceSpanId Array(String) COMMENT 'span that shows the fact, which may be a child of the call' CODEC (ZSTD(1)),
    SpanStatus LowCardinality(String) COMMENT 'status of the tool span itself: Unset, Ok or Error',
    Started DateTime64(9, 'UTC') COMMENT 'start of the call' CODEC (Delta(8), ZSTD(1)),
    Duration UInt64 COMMENT 'how long it took, in nanoseconds' CODEC (T64, ZSTD(1)),
    Version UInt64 COMMENT 'labelling pass that wrote the row; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later pass took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Started)
ORDER BY (toStartOfHour(Started), TraceId, SpanId)
TTL toDate(Started) + INTERVAL 365 DAY;
