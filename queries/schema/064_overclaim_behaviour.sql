-- Behaviour: how often something happened in the runs that started in a quarter of an hour, by who ran. Counted in
-- runs, so calls of one run have one vote. A quarter is always counted as a whole, so rows that come late, twice or not
-- at all need no care: the newest count stands. Tool is empty where a signal is about the run.
CREATE TABLE IF NOT EXISTS overclaim_behaviour
(
    Tick DateTime('UTC') COMMENT 'start of the quarter of an hour in which the runs started' CODEC (Delta(4), ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the runs',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the runs',
    Agent LowCardinality(String) COMMENT 'agent of the runs',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    ServiceVersion LowCardinality(String) COMMENT 'resource service.version of the runs',
    Model LowCardinality(String) COMMENT 'model of the runs',
    Prompt LowCardinality(String) COMMENT 'prompt of the runs: overclaim_runs.Prompt',
    Tool LowCardinality(String) COMMENT 'tool that the signal is about; empty for the run as a whole',
    ToolVersion LowCardinality(String) COMMENT 'version of the tool; empty where unknown',
    Signal LowCardinality(String) COMMENT 'what is counted, such as overclaim, failure or latency',
    Runs UInt32 COMMENT 'runs in which it could be told' CODEC (T64, ZSTD(1)),
    Bad UInt32 COMMENT 'of them, those in which it happened' CODEC (T64, ZSTD(1)),
    Values Map(Int16, UInt32) COMMENT 'for what is measured: runs by eighths of a power of two' CODEC (ZSTD(1)),
    Traces Array(String) COMMENT 'up to three traces in which it happened' CODEC (ZSTD(1)),
    Version UInt64 COMMENT 'count that wrote the row; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later count took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Tick)
ORDER BY (ServiceName, Environment, Agent, Tool, Signal, Tick, AgentVersion, ServiceVersion, Model, Prompt, ToolVersion)
TTL toDate(Tick) + INTERVAL 400 DAY;
