-- Findings: what a rule found. Open = 0 is a finding that later spans disproved; it stays, so that nobody wonders.
CREATE TABLE IF NOT EXISTS overclaim_findings
(
    FindingId String COMMENT 'hash of rule, trace, run and subject; the same in every pass' CODEC (ZSTD(1)),
    Rule LowCardinality(String) COMMENT 'id of the rule, such as OC101',
    Severity LowCardinality(String) COMMENT 'high, medium or low',
    Title String COMMENT 'one sentence' CODEC (ZSTD(1)),
    TraceId String COMMENT 'where to look' CODEC (ZSTD(1)),
    RunSpanId String COMMENT 'run: overclaim_runs.SpanId' CODEC (ZSTD(1)),
    Claim Int32 COMMENT 'claim: overclaim_claims.Position, or -1 where it is about no claim',
    ClaimSpanId String COMMENT 'span that carries the claim; empty where it was read from a message' CODEC (ZSTD(1)),
    CallSpanIds Array(String) COMMENT 'calls that show it, most telling first' CODEC (ZSTD(1)),
    EvidenceRule LowCardinality(String) COMMENT 'rule that read the most telling fact',
    EvidenceValue String COMMENT 'that fact, such as 400' CODEC (ZSTD(1)),
    EvidenceSpanId String COMMENT 'span that shows it' CODEC (ZSTD(1)),
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Tool LowCardinality(String) COMMENT 'tool of the most telling call; empty where there is no call',
    At DateTime64(9, 'UTC') COMMENT 'start of the run' CODEC (Delta(8), ZSTD(1)),
    Open UInt8 COMMENT '1 while the evidence stands',
    Version UInt64 COMMENT 'pass that wrote the row; the highest one counts'
)
ENGINE = ReplacingMergeTree(Version)
PARTITION BY toYYYYMM(At)
ORDER BY (toStartOfHour(At), TraceId, FindingId)
TTL toDate(At) + INTERVAL 365 DAY;
