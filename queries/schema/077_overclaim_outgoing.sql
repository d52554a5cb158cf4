-- What may go out to other systems: findings about runs and about the fleet, as they stand; Open = 0 is taken back. Mark
-- is a hash of what matters to a receiver, so a pass that finds the same again has nothing to send. The counts in the
-- title of a finding about the fleet change with every run, and are no part of it.
CREATE VIEW IF NOT EXISTS overclaim_outgoing
(
    FindingId String COMMENT 'overclaim_findings.FindingId or overclaim_fleet_findings.FindingId',
    Rule LowCardinality(String) COMMENT 'id of the rule, such as OC101',
    Severity LowCardinality(String) COMMENT 'high, medium or low',
    Title String COMMENT 'one sentence',
    TraceId String COMMENT 'where to look',
    RunSpanId String COMMENT 'run: overclaim_runs.SpanId; empty where it is about the fleet',
    Claim Int32 COMMENT 'claim: overclaim_claims.Position, or -1 where it is about no claim',
    SpanId String COMMENT 'span that it judges: of the claim, of the most telling call, or of the run',
    EvidenceRule LowCardinality(String) COMMENT 'rule that read the most telling fact',
    EvidenceValue String COMMENT 'that fact, such as 400',
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Tool LowCardinality(String) COMMENT 'tool of the most telling call; empty where there is no call',
    At DateTime64(9, 'UTC') COMMENT 'start of the run, or when it began',
    Open UInt8 COMMENT '1 while it stands',
    Version UInt64 COMMENT 'pass that wrote it',
    Mark UInt64 COMMENT 'hash of what a receiver sees of it'
)
AS
SELECT
    FindingId,
    Rule,
    Severity,
    Title,
    TraceId,
    RunSpanId,
    Claim,
    multiIf(
        ClaimSpanId != '', ClaimSpanId,
        Claim < 0 AND notEmpty(CallSpanIds), CallSpanIds[1],
        RunSpanId
    ) AS SpanId,
    EvidenceRule,
    EvidenceValue,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Tool,
    At,
    Open,
    Version,
    sipHash64(Open, toString(Severity), Title, SpanId, CallSpanIds, toString(EvidenceRule), EvidenceValue) AS Mark
FROM overclaim_findings FINAL
UNION ALL
SELECT
    FindingId,
    Rule,
    Severity,
    Title,
    if(notEmpty(Traces), Traces[1], '') AS TraceId,
    '' AS RunSpanId,
    toInt32(-1) AS Claim,
    '' AS SpanId,
    '' AS EvidenceRule,
    '' AS EvidenceValue,
    ServiceName,
    Environment,
    Agent,
    '' AS AgentVersion,
    '' AS Model,
    Tool,
    At,
    Open,
    Version,
    sipHash64(Open, toString(Severity), toString(Rule), Value) AS Mark
FROM overclaim_fleet_findings FINAL;

-- What a pass wrote is found by its number without a read of the whole table.
ALTER TABLE overclaim_findings ADD INDEX IF NOT EXISTS by_version Version TYPE minmax GRANULARITY 1;
