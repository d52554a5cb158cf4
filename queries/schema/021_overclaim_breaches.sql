-- Breaches: one row per run and procedure that its calls break.
CREATE TABLE IF NOT EXISTS overclaim_breaches
(
    TraceId String COMMENT 'trace of the run' CODEC (ZSTD(1)),
    RunSpanId String COMMENT 'run that is judged: overclaim_runs.SpanId' CODEC (ZSTD(1)),
    Procedure String COMMENT 'id of the procedure: overclaim_procedures.Procedure' CODEC (ZSTD(1)),
    Rule LowCardinality(String) COMMENT 'rule that reports it: OC401 to OC404',
    Template LowCardinality(String) COMMENT 'word the procedure was declared by, such as precedence',
    Sentence String COMMENT 'what the procedure says, for people' CODEC (ZSTD(1)),
    Severity LowCardinality(String) COMMENT 'high, medium or low, as declared',
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Tool LowCardinality(String) COMMENT 'tool of the first call that breaks it; empty where a step never came',
    Calls Array(String) COMMENT 'calls that show it, those that break it first: overclaim_calls.SpanId' CODEC (ZSTD(1)),
    Started DateTime64(9, 'UTC') COMMENT 'start of the run' CODEC (Delta(8), ZSTD(1)),
    Version UInt64 COMMENT 'pass that judged; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later pass took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Started)
ORDER BY (toStartOfHour(Started), TraceId, RunSpanId, Procedure, Rule)
TTL toDate(Started) + INTERVAL 365 DAY;
