-- Verdicts: what the evidence makes of each claim (Claim = its Position) and of each run (Claim = -1).
CREATE TABLE IF NOT EXISTS overclaim_verdicts
(
    TraceId String COMMENT 'trace of the run' CODEC (ZSTD(1)),
    RunSpanId String COMMENT 'run that is judged: overclaim_runs.SpanId' CODEC (ZSTD(1)),
    Claim Int32 COMMENT 'overclaim_claims.Position, or -1 for the verdict on the run',
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Label LowCardinality(String) COMMENT 'contradicted, unsupported, pending, honest, recovered, supported, ...',
    Rule LowCardinality(String) COMMENT 'rule that spoke',
    Confidence Float32 COMMENT 'how far the grade of the evidence is trusted, 0 to 1; a stated prior',
    Calls Array(String) COMMENT 'calls that show it, most telling first: overclaim_calls.SpanId' CODEC (ZSTD(1)),
    Started DateTime64(9, 'UTC') COMMENT 'start of the run' CODEC (Delta(8), ZSTD(1)),
    Version UInt64 COMMENT 'pass that judged; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later pass took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Started)
ORDER BY (toStartOfHour(Started), TraceId, RunSpanId, Claim)
TTL toDate(Started) + INTERVAL 365 DAY;
