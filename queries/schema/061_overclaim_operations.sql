-- Operations: one row per run and thing done to something, however many calls attempted it, with how it ended.
-- Judging writes it from the calls and from what the agent said of them; verdicts and failures are read from it.
CREATE TABLE IF NOT EXISTS overclaim_operations
(
    TraceId String COMMENT 'trace of the run' CODEC (ZSTD(1)),
    RunSpanId String COMMENT 'run it belongs to: overclaim_runs.SpanId' CODEC (ZSTD(1)),
    Operation String COMMENT 'what was done to what: overclaim_calls.Operation' CODEC (ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Tool LowCardinality(String) COMMENT 'tool of the call that tells its state',
    Action LowCardinality(String) COMMENT 'canonical action of that call, such as create; empty where unknown',
    Effect LowCardinality(String) COMMENT 'effect of that call: read, write or unknown',
    Attempts UInt32 COMMENT 'calls that attempted it',
    FailedAttempts UInt32 COMMENT 'of them, those that failed or wrote nothing',
    First UInt32 COMMENT 'place of the first attempt among the calls of the run',
    Last UInt32 COMMENT 'place of the call that tells its state: mostly the last of which anything is known',
    FirstSpanId String COMMENT 'span of the first attempt' CODEC (ZSTD(1)),
    LastSpanId String COMMENT 'span of the call that tells its state' CODEC (ZSTD(1)),
    FirstObserved LowCardinality(String) COMMENT 'how the first attempt ended',
    Observed LowCardinality(String) COMMENT 'its state: success, failure, pending, empty or unknown',
    Grade LowCardinality(String) COMMENT 'strength of the evidence of that: structured, inferred or suspect',
    Trouble UInt8 COMMENT '0 none, 1 and 2 handed over, 3 pending, 4 waits for somebody, 5 unusually empty, 6 failed',
    OpenEnd UInt8 COMMENT '1 where no later call mended its state and the agent does not admit it',
    Admitted UInt8 COMMENT '1 where the agent says that it failed or is not finished',
    Covered UInt8 COMMENT '1 where the agent may mean it, where it says so of nothing that can be told',
    LastWord Int64 COMMENT 'place of the last claim that says so and names no deed; -1 where there is none',
    WasRough UInt8 COMMENT '1 where its state is bad or pending, or mended what was',
    Calls Array(String) COMMENT 'all attempts in their order: overclaim_calls.SpanId' CODEC (ZSTD(1)),
    Mended Array(String) COMMENT 'those of them that were unfinished and that a later call mended' CODEC (ZSTD(1)),
    Nanoseconds UInt64 COMMENT 'how long all attempts took together' CODEC (T64, ZSTD(1)),
    Started DateTime64(9, 'UTC') COMMENT 'start of its first attempt' CODEC (Delta(8), ZSTD(1)),
    Version UInt64 COMMENT 'pass that judged; the highest one counts',
    Deleted UInt8 DEFAULT 0 COMMENT '1 where a later pass took the row back'
)
ENGINE = ReplacingMergeTree(Version, Deleted)
PARTITION BY toYYYYMM(Started)
ORDER BY (toStartOfHour(Started), TraceId, RunSpanId, Operation)
TTL toDate(Started) + INTERVAL 365 DAY;
