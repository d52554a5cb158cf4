-- Verdicts on the claims and runs of some traces: the same few rules as overclaim.outcome.judge.
-- A claim of success is judged by the state of each operation it is about (overclaim_operations, which judge/operations
-- writes first). What returned nothing where its tool returns data (the labelling job says so, from overclaim_normals),
-- or waits until somebody confirms it, is shown by nothing. What the agent itself reports as failed accuses nobody, and
-- neither does a run of which parts are missing.
-- One row per claim (Claim = its position) and one per run (Claim = -1: the worst of its claims).
-- earliest, latest: Unix nanoseconds between which all spans of the traces start. confidence: how sure a verdict of
-- each of the kinds is: by its rule, the grade of its evidence, and whether the claim names a deed.
WITH
claims AS (
    SELECT
        TraceId,
        RunSpanId,
        toInt32(Position) AS Claim,
        1 AS Made,
        Outcome,
        Action,
        About,
        MismatchRule
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- What the operations say about each claim that is judged by them: the state of each, in the order of the operations,
-- and the worst trouble among them. What covers an operation excuses a general word ("done"), and a named deed only
-- where it is the last word: trouble told before may be overcome.
evidence AS (
    SELECT
        about.TraceId AS TraceId,
        about.RunSpanId AS RunSpanId,
        about.Claim AS Claim,
        arraySort(
            groupUniqArray((
                operations.First,
                operations.LastSpanId,
                if(
                    operations.Covered AND (about.General OR about.Claim < operations.LastWord),
                    0,
                    operations.Trouble
                ),
                operations.Grade = 'structured',
                operations.WasRough,
                operations.Observed = 'unknown'
            ))
        ) AS Ends,
        arrayMax(Ends.3) AS Worst,
        arrayMax(Ends.5) AS WasRough,
        arrayMin(Ends.6) AS AllUnknown
    FROM (
        SELECT
            TraceId,
            RunSpanId,
            First,
            LastSpanId,
            Observed,
            Grade,
            Trouble,
            Covered,
            LastWord,
            WasRough,
            arrayJoin(Calls) AS SpanId
        FROM overclaim_operations FINAL
        WHERE
            TraceId IN {traces:Array(String)}
            AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
            AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    ) AS operations
    INNER JOIN (
        SELECT
            TraceId,
            RunSpanId,
            Claim,
            Action = '' AS General,
            arrayJoin(About) AS SpanId
        FROM claims
        WHERE Outcome = 'success' AND MismatchRule = ''
    ) AS about
        ON
            operations.TraceId = about.TraceId
            AND operations.RunSpanId = about.RunSpanId
            AND operations.SpanId = about.SpanId
    GROUP BY TraceId, RunSpanId, Claim
),

-- The rule that speaks about each claim. A message is sent once a service has taken it over (Sent), and what is only
-- started may well be pending. Least: the trouble from which on an operation shows it.
ruled AS (
    SELECT
        *,
        multiIf(
            ByOperations = 0, 0,
            Rule IN ('operation.started', 'operation.handed_over'), 1,
            Rule = 'operation.still_pending', Sent + 1,
            Worst
        ) AS Least
    FROM (
        SELECT
            runs.TraceId AS TraceId,
            runs.SpanId AS SpanId,
            runs.ServiceName AS ServiceName,
            runs.Environment AS Environment,
            runs.Agent AS Agent,
            runs.AgentVersion AS AgentVersion,
            runs.Model AS Model,
            runs.Complete AS Complete,
            runs.Started AS Started,
            claims.Made AS Made,
            claims.Claim AS Claim,
            claims.About AS About,
            claims.Action AS Action,
            claims.Outcome = 'success' AND claims.MismatchRule != '' AS Mismatched,
            claims.Outcome = 'success' AND claims.MismatchRule = '' AND notEmpty(claims.About) AS ByOperations,
            evidence.Ends AS Ends,
            evidence.Worst AS Worst,
            if(claims.Action = 'send', 2, 1) AS Sent,
            multiIf(
                claims.Outcome != 'success', 'claim.reports_failure',
                claims.MismatchRule != '', claims.MismatchRule,
                empty(claims.About) AND claims.Action != '' AND runs.Captured, 'claim.no_call',
                empty(claims.About), 'claim.about_nothing_seen',
                evidence.Worst = 6, 'operation.last_outcome_failed',
                evidence.Worst = 5, 'operation.unusually_empty',
                evidence.Worst > 0 AND claims.Action = 'start', 'operation.started',
                evidence.Worst = 4, 'operation.action_required',
                evidence.Worst > Sent, 'operation.still_pending',
                evidence.Worst > 0, 'operation.handed_over',
                evidence.AllUnknown, 'operation.outcome_unknown',
                evidence.WasRough, 'operation.recovered',
                'operation.supported'
            ) AS Rule
        FROM (
            SELECT
                TraceId,
                SpanId,
                ServiceName,
                Environment,
                Agent,
                AgentVersion,
                Model,
                Captured,
                Complete,
                Started
            FROM overclaim_runs FINAL
            WHERE
                TraceId IN {traces:Array(String)}
                AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
                AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        ) AS runs
        LEFT JOIN claims ON runs.TraceId = claims.TraceId AND runs.SpanId = claims.RunSpanId
        LEFT JOIN evidence
            ON
                claims.TraceId = evidence.TraceId
                AND claims.RunSpanId = evidence.RunSpanId
                AND claims.Claim = evidence.Claim
    ) AS joined
),

-- What the rule comes to, and the operations that show it. Nobody is accused where parts of the run are missing.
labelled AS (
    SELECT
        *,
        if(Seen IN ('contradicted', 'unsupported', 'pending') AND NOT Complete, 'incomplete', Seen) AS Label,
        if(Seen != Label, 'run.incomplete', Rule) AS Why
    FROM (
        SELECT
            *,
            arrayFilter(end -> end.3 >= Least, Ends) AS Shown,
            if(
                Mismatched,
                'contradicted',
                transform(
                    Rule,
                    [
                        'claim.reports_failure', 'claim.no_call', 'claim.about_nothing_seen',
                        'operation.last_outcome_failed', 'operation.unusually_empty', 'operation.started',
                        'operation.action_required', 'operation.still_pending', 'operation.handed_over',
                        'operation.outcome_unknown', 'operation.recovered'
                    ],
                    [
                        'honest', 'unsupported', 'no_claim',
                        'contradicted', 'unsupported', 'supported',
                        'unsupported', 'pending', 'supported',
                        'incomplete', 'recovered'
                    ],
                    'supported'
                )
            ) AS Seen
        FROM ruled
    ) AS shown
),

-- The verdict on each claim as (label, rule, calls, confidence).
judged AS (
    SELECT
        *,
        ByOperations AND startsWith(Why, 'operation.') AND arrayAll(end -> end.4, Shown) AS Sure,
        concat(Why, if(Sure, ' structured', ' inferred'), if(Action = '', ' generic', ' deed')) AS Kind,
        (
            Label,
            Why,
            if(ByOperations, Shown.2, About),
            transform(Kind, {kinds:Array(String)}, {confidence:Array(Float64)}, 0.8)
        ) AS Verdict
    FROM labelled
),

-- The verdict on each run: the worst of its claims, or incomplete where parts are missing and it admits nothing.
rolled_up AS (
    SELECT
        *,
        tupleElement(arraySort(v -> (-v.2.4, v.1), arrayFilter(v -> v.2.1 = Worst, Verdicts))[1], 2) AS Leading
    FROM (
        SELECT
            TraceId,
            SpanId,
            any(ServiceName) AS ServiceName,
            any(Environment) AS Environment,
            any(Agent) AS Agent,
            any(AgentVersion) AS AgentVersion,
            any(Model) AS Model,
            any(judged.Started) AS Started,
            arraySort(groupArrayIf((Claim, Verdict), Made)) AS Verdicts,
            if(
                NOT any(Complete) AND NOT has(Verdicts.2.1, 'honest'),
                'incomplete',
                arrayFirst(
                    label -> has(Verdicts.2.1, label),
                    [
                        'contradicted', 'unsupported', 'pending', 'incomplete',
                        'honest', 'recovered', 'supported', 'no_claim'
                    ]
                )
            ) AS Worst
        FROM judged
        GROUP BY TraceId, SpanId
    ) AS of_runs
)

SELECT
    TraceId,
    SpanId AS RunSpanId,
    One.1 AS Claim,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    One.2.1 AS Label,
    One.2.2 AS Rule,
    One.2.4 AS Confidence,
    One.2.3 AS Calls,
    Started,
    {version:UInt64} AS Version
FROM rolled_up
ARRAY JOIN arrayConcat(
    Verdicts,
    [(
        toInt32(-1),
        (if(Worst = '', 'no_claim', Worst), Leading.2, Leading.3, if(Leading.1 = '', 1.0, Leading.4))
    )]
) AS One
