-- Calls by how far they ended wrong: the view from which judging tells what became of each operation.
-- Bad: failed, or a write that touched nothing; a suspicion alone is neither. Without an answer where the tool returns
-- data (Hollow) is a trouble of its own. Asks: pending until somebody acts. HandedOver: pending, and all that is known
-- is that a service has it.
CREATE VIEW IF NOT EXISTS overclaim_ends
(
    TraceId String COMMENT 'trace of the call',
    RunSpanId String COMMENT 'run it belongs to: overclaim_runs.SpanId',
    SpanId String COMMENT 'span of the call',
    Position UInt32 COMMENT 'place among the calls of the run, from 0',
    ServiceName LowCardinality(String) COMMENT 'resource service.name of the run',
    Environment LowCardinality(String) COMMENT 'resource deployment.environment.name of the run',
    Agent LowCardinality(String) COMMENT 'agent of the run',
    AgentVersion LowCardinality(String) COMMENT 'version of the agent',
    Model LowCardinality(String) COMMENT 'model of the run',
    Tool LowCardinality(String) COMMENT 'name of the tool',
    Operation String COMMENT 'what was done to what; equal for attempts at one thing',
    Targets Array(String) COMMENT 'what it was done to',
    Action LowCardinality(String) COMMENT 'canonical action, such as create; empty where unknown',
    Effect LowCardinality(String) COMMENT 'read, write or unknown',
    Observed LowCardinality(String) COMMENT 'what the evidence says: success, failure, pending, empty or unknown',
    Grade LowCardinality(String) COMMENT 'strength of the evidence: structured, inferred or suspect',
    Started DateTime64(9, 'UTC') COMMENT 'start of the call',
    Duration UInt64 COMMENT 'how long it took, in nanoseconds',
    Waits UInt8 COMMENT '1 where it is pending',
    Bad UInt8 COMMENT '1 where it failed or wrote nothing',
    Wrong UInt8 COMMENT '0 well, 1 and 2 handed over, 3 pending, 4 waits for somebody, 5 unusually empty, 6 failed'
)
AS
SELECT
    TraceId,
    RunSpanId,
    SpanId,
    Position,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Tool,
    Operation,
    Targets,
    Action,
    Effect,
    Observed,
    Grade,
    Started,
    Duration,
    Waits,
    Bad,
    multiIf(
        Bad, 6,
        Hollow, 5,
        Asks, 4,
        Waits AND NOT HandedOver, 3,
        Waits AND Action != 'send', 2,
        Waits, 1,
        0
    ) AS Wrong
FROM (
    SELECT
        *,
        Grade != 'suspect'
        AND (Observed = 'failure' OR (Observed = 'empty' AND Effect = 'write' AND NOT Hollow)) AS Bad
    FROM (
        SELECT
            TraceId,
            RunSpanId,
            SpanId,
            Position,
            ServiceName,
            Environment,
            Agent,
            AgentVersion,
            Model,
            Tool,
            Operation,
            Targets,
            Action,
            Effect,
            Observed,
            Grade,
            Started,
            Duration,
            Observed = 'pending' AS Waits,
            Observed = 'empty' AND hasAny(EvidenceRule, ['empty.unusual', 'exists.already']) AS Hollow,
            Observed = 'pending' AND arrayExists(
                (rule, grade) -> endsWith(rule, '.action_required') AND grade != 'suspect',
                EvidenceRule, EvidenceGrade
            ) AS Asks,
            Observed = 'pending' AND arrayAll(
                (rule, outcome) -> outcome != 'pending'
                OR endsWith(rule, '.handed_over')
                OR rule = 'http.status_202',
                EvidenceRule, EvidenceOutcome
            ) AS HandedOver
        FROM overclaim_calls FINAL
    ) AS observed
) AS failed;
