-- Runs of some traces whose calls break a procedure about what comes before or after what: the same as
-- overclaim.procedures.breaches. One row per run and procedure.
-- A subject breaks it that has no partner before it (precedes) or after it (responds), or that has one (not_after).
-- earliest, latest: Unix nanoseconds between which all spans of the traces start. tools, snakes: names of tools, and
-- the same in snake case, where that is another name.
WITH
procedures AS (
    SELECT *
    FROM overclaim_procedures FINAL
    WHERE Kind IN ('precedes', 'responds', 'not_after')
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

-- What each kind of call is to each procedure. Kinds are few and calls are many.
roles AS (
    SELECT
        kinds.Agent AS Agent,
        kinds.Tool AS Tool,
        kinds.Action AS Action,
        kinds.Effect AS Effect,
        kinds.State AS State,
        procedures.Procedure AS Procedure,
        procedures.Part AS Part,
        has(SubjectStates, State)
        AND (empty(SubjectActions) OR has(SubjectActions, Action))
        AND (empty(SubjectEffects) OR has(SubjectEffects, Effect))
        AND (match(Tool, SubjectTools) OR match(Snake, SubjectTools)) AS Subject,
        has(PartnerStates, State)
        AND (empty(PartnerActions) OR has(PartnerActions, Action))
        AND (empty(PartnerEffects) OR has(PartnerEffects, Effect))
        AND (match(Tool, PartnerTools) OR match(Snake, PartnerTools)) AS Partner,
        has(UnlessStates, State)
        AND (empty(UnlessActions) OR has(UnlessActions, Action))
        AND (empty(UnlessEffects) OR has(UnlessEffects, Effect))
        AND (match(Tool, UnlessTools) OR match(Snake, UnlessTools)) AS Lifts
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
    WHERE match(kinds.Agent, procedures.Agents) AND (Subject OR Partner OR Lifts)
),

-- The calls that matter, one row per target where targets matter, in turn: from the end for what must come after.
-- Anywhere: its target matters and is not known.
steps AS (
    SELECT
        calls.TraceId AS TraceId,
        calls.RunSpanId AS RunSpanId,
        calls.SpanId AS SpanId,
        calls.Tool AS Tool,
        calls.Position AS Position,
        procedures.Procedure AS Procedure,
        procedures.Part AS Part,
        procedures.Kind AS Kind,
        toInt64(procedures.Within) AS Within,
        procedures.NeedsAll AS NeedsAll,
        roles.Subject AS Subject,
        roles.Partner AS Partner,
        roles.Lifts AS Lifts,
        procedures.PerTarget AND empty(calls.Targets) AS Anywhere,
        arrayJoin(if(procedures.PerTarget AND NOT Anywhere, arrayDistinct(calls.Targets), [''])) AS Target,
        if(procedures.Kind = 'responds', 4294967296 - calls.Position, calls.Position + 1) AS Turn
    FROM calls
    INNER JOIN roles
        ON
            calls.Agent = roles.Agent
            AND calls.Tool = roles.Tool
            AND calls.Action = roles.Action
            AND calls.Effect = roles.Effect
            AND calls.State = roles.State
    INNER JOIN procedures ON roles.Procedure = procedures.Procedure AND roles.Part = procedures.Part
),

-- The turns at which partners, and what lifts, were last seen before each call; 0 for never.
seen AS (
    SELECT
        *,
        maxIf(Turn, Partner AND NOT Anywhere) OVER alike AS PartnerTurn,
        argMaxIf(SpanId, Turn, Partner AND NOT Anywhere) OVER alike AS PartnerSpanId,
        maxIf(Turn, Partner AND Anywhere) OVER whole AS PartnerAnywhere,
        greatest(
            maxIf(Turn, Lifts AND NOT Anywhere) OVER alike,
            maxIf(Turn, Lifts AND Anywhere) OVER whole
        ) AS LiftTurn
    FROM steps
    WINDOW
        alike AS (
            PARTITION BY TraceId, RunSpanId, Procedure, Part, Anywhere, Target
            ORDER BY Turn ASC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        whole AS (
            PARTITION BY TraceId, RunSpanId, Procedure, Part
            ORDER BY Turn ASC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
),

-- One row per subject and constraint that it breaks. Any target that it shares with a partner keeps it, or bans it.
breaking AS (
    SELECT
        TraceId,
        RunSpanId,
        Procedure,
        Part,
        Position,
        SpanId,
        Tool,
        NeedsAll,
        max(
            (PartnerTurn > 0 AND (Within = 0 OR Turn - PartnerTurn <= Within))
            OR (PartnerAnywhere > 0 AND (Within = 0 OR Turn - PartnerAnywhere <= Within))
            OR LiftTurn > 0
        ) AS Kept,
        maxIf(
            (PartnerTurn, PartnerSpanId),
            PartnerTurn > 0 AND (Within = 0 OR Turn - PartnerTurn <= Within) AND LiftTurn <= PartnerTurn
        ) AS Against
    FROM seen
    WHERE Subject AND NOT Anywhere
    GROUP BY TraceId, RunSpanId, Procedure, Part, Kind, Position, SpanId, Tool, NeedsAll
    HAVING if(Kind = 'not_after', Against.1 > 0, NOT Kept)
),

broken AS (
    SELECT
        runs.TraceId AS TraceId,
        runs.SpanId AS RunSpanId,
        breaking.Procedure AS Procedure,
        procedures.Rule AS Rule,
        any(procedures.Template) AS Template,
        any(procedures.Sentence) AS Sentence,
        any(procedures.Severity) AS Severity,
        any(runs.ServiceName) AS ServiceName,
        any(runs.Environment) AS Environment,
        any(runs.Agent) AS Agent,
        any(runs.AgentVersion) AS AgentVersion,
        any(runs.Model) AS Model,
        -- The first breaking call comes with what it goes against; where it breaks two constraints, with the nearer.
        arraySort(
            groupArray((breaking.Position, -breaking.Against.1, breaking.SpanId, breaking.Against.2, breaking.Tool))
        ) AS Breaking,
        any(runs.Started) AS Started
    FROM breaking
    INNER JOIN procedures ON breaking.Procedure = procedures.Procedure AND breaking.Part = procedures.Part
    INNER JOIN runs ON breaking.TraceId = runs.TraceId AND breaking.RunSpanId = runs.SpanId
    WHERE (runs.Complete AND runs.Captured) OR NOT breaking.NeedsAll
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
    tupleElement(Breaking[1], 5) AS Tool,
    arrayDistinct(
        arrayConcat(
            arraySlice(arrayDistinct(Breaking.3), 1, {shown:UInt32}),
            arrayFilter(span -> span != '', [tupleElement(Breaking[1], 4)])
        )
    ) AS Calls,
    Started,
    {version:UInt64} AS Version
FROM broken
