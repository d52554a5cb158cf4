-- Fleet findings: what a rule found about a service, an agent or a tool over time, rather than about one run. One row
-- for each subject of a rule. Open = 0 is a finding that no longer holds, or that is news no more.
CREATE TABLE IF NOT EXISTS overclaim_fleet_findings
(
    FindingId String COMMENT 'hash of rule and subject; the same in every pass' CODEC (ZSTD(1)),
    Rule LowCardinality(String) COMMENT 'id of the rule, such as OC304',
    Severity LowCardinality(String) COMMENT 'high, medium or low',
    Title String COMMENT 'one sentence' CODEC (ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'service that it is about',
    Environment LowCardinality(String) COMMENT 'environment that it is about',
    Agent LowCardinality(String) COMMENT 'agent that it is about, or that showed it; empty where it is a whole service',
    Tool LowCardinality(String) COMMENT 'tool that it is about; empty where it is about none',
    Value String COMMENT 'what was seen, such as a kind of error; empty where the rule has none' CODEC (ZSTD(1)),
    Traces Array(String) COMMENT 'traces that show it' CODEC (ZSTD(1)),
    At DateTime64(9, 'UTC') COMMENT 'when it began' CODEC (Delta(8), ZSTD(1)),
    Open UInt8 COMMENT '1 while it holds',
    Version UInt64 COMMENT 'when the row was written, Unix milliseconds; the highest one counts'
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY FindingId
TTL toDate(At) + INTERVAL 365 DAY;
