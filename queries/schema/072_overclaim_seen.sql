-- Seen: what was seen in the runs of a quarter of an hour, by who ran: the runs themselves, the tools they called, the
-- kinds of errors of these, and the names of their arguments. The runs that started in one hour are always counted as a
-- whole, so rows that come late, twice or not at all need no care: the newest count stands.
CREATE TABLE IF NOT EXISTS overclaim_seen
(
    Kind LowCardinality(String) COMMENT 'what was seen: run, tool, error or argument',
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the runs',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the runs',
    Agent LowCardinality(String) COMMENT 'agent of the runs',
    Tool LowCardinality(String) COMMENT 'tool that was called; empty for the run as a whole',
    Value LowCardinality(String) COMMENT 'kind of error, or name of the argument; empty for runs and tools',
    Hour DateTime('UTC') COMMENT 'hour in which the runs started' CODEC (Delta(4), ZSTD(1)),
    Tick DateTime('UTC') COMMENT 'quarter of an hour in which the runs ended' CODEC (Delta(4), ZSTD(1)),
    Runs UInt32 COMMENT 'runs in which it was seen' CODEC (T64, ZSTD(1)),
    First DateTime64(9, 'UTC') COMMENT 'start of the first of them' CODEC (Delta(8), ZSTD(1)),
    FirstTrace String COMMENT 'trace of the first of them' CODEC (ZSTD(1)),
    Last DateTime64(9, 'UTC') COMMENT 'start of the last of them' CODEC (Delta(8), ZSTD(1)),
    LastTrace String COMMENT 'trace of the last of them' CODEC (ZSTD(1)),
    Version UInt64 COMMENT 'count that wrote the row; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later count took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Hour)
ORDER BY (Kind, ServiceName, Environment, Agent, Tool, Value, Hour, Tick)
TTL toDate(Hour) + INTERVAL 400 DAY;

ALTER TABLE overclaim_calls ADD COLUMN IF NOT EXISTS
    ArgumentNames Array(LowCardinality(String)) COMMENT 'names of its arguments, never their values; empty where the span carries none';

ALTER TABLE overclaim_claims ADD COLUMN IF NOT EXISTS
    Everything UInt8 COMMENT '1 where it says that it is about all there are: all orders, every file';
