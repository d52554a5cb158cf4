-- The calls of some traces that failed, or wrote nothing, with who noticed: a later call that mended it, the agent's
-- own report, or a verdict that accuses it. Reads overclaim_verdicts, so it runs after judge/verdicts.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
WITH
-- Whether good ends mend unfinished calls: the same words as in judge/verdicts.
(
    (same, good_action, good_look, good_first, good_last, action, look, first, last, waits) ->
    same AND good_last > first
    OR (
        NOT same
        AND NOT (good_look AND NOT look)
        AND (
            good_action = 'delete' AND action = 'delete' AND good_first < last
            OR good_last > first
            AND (
                waits
                OR good_action = action
                OR good_action IN ('', 'run', 'delegate')
                OR action IN ('', 'run', 'delegate')
                OR (good_action IN ('create', 'update') AND action IN ('create', 'update'))
            )
        )
    )
) AS mends,

calls AS (
    SELECT
        *,
        -- An answer that only is unusual is no failure.
        Grade != 'suspect'
        AND (
            Observed = 'failure'
            OR (
                Observed = 'empty'
                AND Effect = 'write'
                AND NOT hasAny(EvidenceRule, ['empty.unusual', 'exists.already'])
            )
        ) AS Bad,
        -- The fact that decided against success: facts are kept with what decided first.
        arrayFirst(
            fact -> fact.1 != 'success',
            arrayZip(EvidenceOutcome, EvidenceRule, EvidenceValue, EvidenceSpanId)
        ) AS Fact
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- One row per call for its operation, and one for each of its targets.
links AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Position,
        Action,
        Effect = 'read' AS Look,
        Observed,
        Bad,
        arrayJoin(arrayConcat([('operation', Operation)], arrayMap(t -> ('target', t), Targets))) AS Link,
        Link.1 = 'operation' AS Same
    FROM calls
),

good_ends AS (
    SELECT
        TraceId,
        RunSpanId,
        Link,
        Action,
        Look,
        min(Position) AS First,
        max(Position) AS Last
    FROM links
    WHERE Observed = 'success'
    GROUP BY TraceId, RunSpanId, Link, Action, Look
),

mended AS (
    SELECT DISTINCT
        links.TraceId AS TraceId,
        links.SpanId AS SpanId
    FROM links
    INNER JOIN good_ends
        ON
            links.TraceId = good_ends.TraceId
            AND links.RunSpanId = good_ends.RunSpanId
            AND links.Link = good_ends.Link
    WHERE
        links.Bad
        AND mends(
            links.Same, good_ends.Action, good_ends.Look, good_ends.First, good_ends.Last,
            links.Action, links.Look, links.Position, links.Position, 0
        )
),

reports AS (
    SELECT
        TraceId,
        RunSpanId,
        groupUniqArrayArray(About) AS Spans,
        max(empty(About) AND Action = '') AS Vague,
        max(empty(About)) AS Lost
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Outcome IN ('failure', 'partial')
    GROUP BY TraceId, RunSpanId
),

reported AS (
    SELECT DISTINCT
        calls.TraceId AS TraceId,
        calls.RunSpanId AS RunSpanId,
        calls.Operation AS Operation
    FROM calls
    INNER JOIN reports ON calls.TraceId = reports.TraceId AND calls.RunSpanId = reports.RunSpanId
    WHERE
        has(reports.Spans, calls.SpanId)
        OR reports.Vague
        OR (reports.Lost AND calls.Action IN ('', 'run', 'delegate'))
),

accused AS (
    SELECT DISTINCT
        TraceId,
        arrayJoin(Calls) AS SpanId
    FROM overclaim_verdicts FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Claim >= 0
        AND Label IN ('contradicted', 'unsupported', 'pending')
)

SELECT
    calls.TraceId AS TraceId,
    calls.RunSpanId AS RunSpanId,
    calls.SpanId AS SpanId,
    calls.ServiceName AS ServiceName,
    calls.Environment AS Environment,
    calls.Agent AS Agent,
    calls.AgentVersion AS AgentVersion,
    calls.Model AS Model,
    calls.Tool AS Tool,
    calls.Effect AS Effect,
    calls.Claimed AS Claimed,
    calls.Observed AS Observed,
    runs.Claimed AS RunClaimed,
    calls.SpanStatus AS SpanStatus,
    (calls.TraceId, calls.SpanId) IN (SELECT * FROM mended) AS Mended,
    (calls.TraceId, calls.RunSpanId, calls.Operation) IN (SELECT * FROM reported) AS Reported,
    (calls.TraceId, calls.SpanId) IN (SELECT * FROM accused) AS Accused,
    calls.Fact.2 AS EvidenceRule,
    calls.Fact.3 AS EvidenceValue,
    if(calls.Fact.4 = '', calls.SpanId, calls.Fact.4) AS EvidenceSpanId,
    calls.Started AS Started,
    {version:UInt64} AS Version
FROM calls
LEFT JOIN (
    SELECT
        TraceId,
        SpanId,
        Claimed
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
) AS runs ON calls.TraceId = runs.TraceId AND calls.RunSpanId = runs.SpanId
WHERE calls.Bad
