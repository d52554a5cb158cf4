-- Runs of some traces that do not begin, or end, with the call that a procedure says: the same as
-- overclaim.procedures.breaches. One row per run and procedure; only runs of which every call was seen.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start. tools, snakes: names of tools, and
-- the same in snake case, where that is another name.
WITH
procedures AS (
    SELECT *
    FROM overclaim_procedures FINAL
    WHERE Kind IN ('first', 'last')
),

runs AS (
    SELECT *
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- State: as observed, where a write of nothing failed, and a suspicion or an unusual answer says nothing.
calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        toInt64(Position) AS Position,
        Agent,
        Tool,
        Action,
        Effect,
        Targets,
        multiIf(
            Grade != 'suspect'
            AND (
                Observed = 'failure'
                OR (
                    Observed = 'empty'
                    AND Effect = 'write'
                    AND NOT hasAny(EvidenceRule, ['empty.unusual', 'exists.already'])
                )
            ), 'failure',
            Observed = 'failure', 'unknown',
            Observed
        ) AS State
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- The kinds of call that count by how they ended, by procedure, and whether the run may begin or end with one.
roles AS (
    SELECT
        kinds.Agent AS Agent,
        kinds.Tool AS Tool,
        kinds.Action AS Action,
        kinds.Effect AS Effect,
        kinds.State AS State,
        procedures.Procedure AS Procedure,
        (empty(SubjectActions) OR has(SubjectActions, Action))
        AND (empty(SubjectEffects) OR has(SubjectEffects, Effect))
        AND (match(Tool, SubjectTools) OR match(Snake, SubjectTools)) AS Subject
    FROM (
        SELECT DISTINCT
            Agent,
            Tool,
            Action,
            Effect,
            State,
            transform(toString(Tool), {tools:Array(String)}, {snakes:Array(String)}, '') AS Snake
        FROM calls
    ) AS kinds
    CROSS JOIN procedures
    WHERE match(kinds.Agent, procedures.Agents) AND has(SubjectStates, State)
),

-- The call at that end of each run, as (whether it is right, span, tool).
ends AS (
    SELECT
        calls.TraceId AS TraceId,
        calls.RunSpanId AS RunSpanId,
        procedures.Procedure AS Procedure,
        argMin(
            (roles.Subject, calls.SpanId, calls.Tool),
            if(procedures.Kind = 'first', calls.Position, -calls.Position)
        ) AS End
    FROM calls
    INNER JOIN roles
        ON
            calls.Agent = roles.Agent
            AND calls.Tool = roles.Tool
            AND calls.Action = roles.Action
            AND calls.Effect = roles.Effect
            AND calls.State = roles.State
    INNER JOIN procedures ON roles.Procedure = procedures.Procedure
    GROUP BY TraceId, RunSpanId, Procedure
)

SELECT
    runs.TraceId AS TraceId,
    runs.SpanId AS RunSpanId,
    procedures.Procedure AS Procedure,
    procedures.Rule AS Rule,
    procedures.Template AS Template,
    procedures.Sentence AS Sentence,
    procedures.Severity AS Severity,
    runs.ServiceName AS ServiceName,
    runs.Environment AS Environment,
    runs.Agent AS Agent,
    runs.AgentVersion AS AgentVersion,
    runs.Model AS Model,
    ends.End.3 AS Tool,
    [ends.End.2] AS Calls,
    runs.Started AS Started,
    {version:UInt64} AS Version
FROM ends
INNER JOIN procedures ON ends.Procedure = procedures.Procedure
INNER JOIN runs ON ends.TraceId = runs.TraceId AND ends.RunSpanId = runs.SpanId
WHERE runs.Complete AND runs.Captured AND NOT ends.End.1
