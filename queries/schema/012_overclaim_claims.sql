-- Claims: one row per clause in which an agent told its user that something is done or not done.
CREATE TABLE IF NOT EXISTS overclaim_claims
(
    TraceId String COMMENT 'trace of the run' CODEC (ZSTD(1)),
    RunSpanId String COMMENT 'run that claims: overclaim_runs.SpanId' CODEC (ZSTD(1)),
    Position UInt32 COMMENT 'place among the claims of the run, from 0',
    SpanId String COMMENT 'span that carries the claim; empty where it was read from a message' CODEC (ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Outcome LowCardinality(String) COMMENT 'what it says: success, failure or partial',
    Action LowCardinality(String) COMMENT 'canonical action it names, such as create; empty where it names none',
    Targets Array(String) COMMENT 'what it is about' CODEC (ZSTD(1)),
    Generic UInt8 COMMENT '1 for a claim about everything: done, it works, all set',
    About Array(String) COMMENT 'calls it is about: overclaim_calls.SpanId, in the order of the calls' CODEC (ZSTD(1)),
    MismatchRule LowCardinality(String) COMMENT 'rule that found it to disagree with those calls; empty where none did',
    MismatchValue String COMMENT 'what disagrees, small' CODEC (ZSTD(1)),
    MismatchSpanId String COMMENT 'span it disagrees with' CODEC (ZSTD(1)),
    Source LowCardinality(String) COMMENT 'final_message, explicit or structured_output',
    Text String COMMENT 'the clause, only where its span carried content; cut to 300 characters' CODEC (ZSTD(1)),
    Started DateTime64(9, 'UTC') COMMENT 'start of the run' CODEC (Delta(8), ZSTD(1)),
    Version UInt64 COMMENT 'labelling pass that wrote the row; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later pass took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Started)
ORDER BY (toStartOfHour(Started), TraceId, RunSpanId, Position)
TTL toDate(Started) + INTERVAL 365 DAY;
