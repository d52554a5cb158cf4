-- The verdicts on runs, one row per run: to be counted as it is, without FINAL.
CREATE VIEW IF NOT EXISTS overclaim_run_verdicts
(
    TraceId String COMMENT 'trace of the run',
    RunSpanId String COMMENT 'run that is judged: overclaim_runs.SpanId',
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Label LowCardinality(String) COMMENT 'contradicted, unsupported, pending, honest, recovered, supported, ...',
    Rule LowCardinality(String) COMMENT 'rule that spoke',
    Confidence Float32 COMMENT 'how far the grade of the evidence is trusted, 0 to 1; a stated prior',
    Calls Array(String) COMMENT 'calls that show it, most telling first: overclaim_calls.SpanId',
    Started DateTime64(9, 'UTC') COMMENT 'start of the run'
)
AS
SELECT
    TraceId,
    RunSpanId,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Label,
    Rule,
    Confidence,
    Calls,
    Started
FROM overclaim_verdicts FINAL
WHERE Claim = -1;
