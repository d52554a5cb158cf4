-- Runs of some traces in which a step was taken more or fewer times than a procedure says: the same as
-- overclaim.procedures.breaches. One row per run and procedure; too few only in a run of which every call was seen.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start. tools, snakes: names of tools, and
-- the same in snake case, where that is another name.
WITH
procedures AS (
    SELECT *
    FROM overclaim_procedures FINAL
    WHERE Kind = 'count'
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

-- The kinds of call that count, of which there are few, by procedure.
roles AS (
    SELECT
        kinds.Agent AS Agent,
        kinds.Tool AS Tool,
        kinds.Action AS Action,
        kinds.Effect AS Effect,
        kinds.State AS State,
        procedures.Procedure AS Procedure,
        procedures.Part AS Part
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
    WHERE
        match(kinds.Agent, procedures.Agents)
        AND has(SubjectStates, State)
        AND (empty(SubjectActions) OR has(SubjectActions, Action))
        AND (empty(SubjectEffects) OR has(SubjectEffects, Effect))
        AND (match(Tool, SubjectTools) OR match(Snake, SubjectTools))
),

-- The calls that count, per run, or per target where targets matter; a call whose target is not known counts for none.
counted AS (
    SELECT
        calls.TraceId AS TraceId,
        calls.RunSpanId AS RunSpanId,
        procedures.Procedure AS Procedure,
        procedures.Part AS Part,
        arrayJoin(if(procedures.PerTarget, arrayDistinct(calls.Targets), [''])) AS Target,
        groupArray((calls.Position, calls.SpanId, calls.Tool)) AS Steps
    FROM calls
    INNER JOIN roles
        ON
            calls.Agent = roles.Agent
            AND calls.Tool = roles.Tool
            AND calls.Action = roles.Action
            AND calls.Effect = roles.Effect
            AND calls.State = roles.State
    INNER JOIN procedures ON roles.Procedure = procedures.Procedure AND roles.Part = procedures.Part
    GROUP BY TraceId, RunSpanId, Procedure, Part, Target
),

broken AS (
    SELECT
        runs.TraceId AS TraceId,
        runs.SpanId AS RunSpanId,
        procedures.Procedure AS Procedure,
        procedures.Rule AS Rule,
        any(procedures.Template) AS Template,
        any(procedures.Sentence) AS Sentence,
        any(procedures.Severity) AS Severity,
        any(runs.ServiceName) AS ServiceName,
        any(runs.Environment) AS Environment,
        any(runs.Agent) AS Agent,
        any(runs.AgentVersion) AS AgentVersion,
        any(runs.Model) AS Model,
        arraySort(arrayDistinct(groupArrayArray(counted.Steps))) AS Breaking,
        any(runs.Started) AS Started
    FROM runs
    CROSS JOIN procedures
    LEFT JOIN counted
        ON
            runs.TraceId = counted.TraceId
            AND runs.SpanId = counted.RunSpanId
            AND procedures.Procedure = counted.Procedure
            AND procedures.Part = counted.Part
    WHERE
        match(runs.Agent, procedures.Agents)
        AND (
            length(counted.Steps) > procedures.High
            OR (runs.Complete AND runs.Captured AND length(counted.Steps) < procedures.Low)
        )
    GROUP BY TraceId, RunSpanId, Procedure, Rule
)

SELECT
    TraceId,
    RunSpanId,
    Procedure,
    Rule,
    Template,
    Sentence,
    Severity,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    tupleElement(Breaking[1], 3) AS Tool,
    arraySlice(Breaking.2, 1, {shown:UInt32}) AS Calls,
    Started,
    {version:UInt64} AS Version
FROM broken
