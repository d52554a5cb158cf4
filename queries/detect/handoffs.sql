-- Calls of some traces during which another agent ran and did not succeed, while the agent that made the call tells its
-- user that all went well. The other agent says itself that it failed, wholly or in part, or claims what its own calls
-- contradict. Quiet where the agent says so, where its call shows a failure (other rules speak of that), and where the
-- work was done after that: by another agent, or by a change that succeeded.
-- Severity is high where the other agent reports failure and the claim is about the very call.
WITH
-- Traces of several whole runs.
shared AS (
    SELECT
        TraceId,
        groupArray((SpanId, Claimed, Agent, Started, Ended)) AS Runs
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Complete
    GROUP BY TraceId
    HAVING count() > 1
),

-- One row per run that made calls, with its calls: span, tool, outcome, whether it changed something, start, end.
callers AS (
    SELECT
        TraceId,
        RunSpanId,
        any(ServiceName) AS ServiceName,
        any(Environment) AS Environment,
        any(Agent) AS Agent,
        any(AgentVersion) AS AgentVersion,
        any(Model) AS Model,
        groupArray((
            SpanId,
            Tool,
            Observed,
            Effect = 'write' AND Observed = 'success',
            Started,
            addNanoseconds(Started, toInt64(Duration))
        )) AS Calls
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN (SELECT shared.TraceId FROM shared)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    GROUP BY TraceId, RunSpanId
),

claims AS (
    SELECT
        TraceId,
        RunSpanId,
        max(Outcome IN ('failure', 'partial')) AS Reports,
        groupUniqArrayArrayIf(About, Outcome = 'success') AS Praised
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN (SELECT shared.TraceId FROM shared)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    GROUP BY TraceId, RunSpanId
),

accused AS (
    SELECT
        TraceId,
        groupArray(RunSpanId) AS Accused,
        groupArrayIf(RunSpanId, Label = 'contradicted') AS Contradicted
    FROM overclaim_verdicts FINAL
    WHERE
        TraceId IN (SELECT shared.TraceId FROM shared)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Claim = -1
        AND Label IN ('contradicted', 'unsupported', 'pending')
    GROUP BY TraceId
),

-- The runs within each that claims success, and when its work last succeeded: by one of them, or a change of its own.
outer_runs AS (
    SELECT
        callers.TraceId AS TraceId,
        callers.RunSpanId AS RunSpanId,
        callers.ServiceName AS ServiceName,
        callers.Environment AS Environment,
        callers.Agent AS Agent,
        callers.AgentVersion AS AgentVersion,
        callers.Model AS Model,
        callers.Calls AS Calls,
        claims.Praised AS Praised,
        accused.Contradicted AS Contradicted,
        arrayFirst(run -> run.1 = callers.RunSpanId, shared.Runs) AS Whole,
        arrayFilter(run -> run.1 != Whole.1 AND run.4 >= Whole.4 AND run.5 <= Whole.5, shared.Runs) AS Within,
        arrayMax(
            arrayConcat(
                [toDateTime64(0, 9, 'UTC')],
                arrayMap(
                    run -> run.4,
                    arrayFilter(run -> run.2 = 'success' AND NOT has(accused.Accused, run.1), Within)
                ),
                arrayMap(call -> call.5, arrayFilter(call -> call.4, callers.Calls))
            )
        ) AS LastDone
    FROM callers
    INNER JOIN shared ON callers.TraceId = shared.TraceId
    LEFT JOIN claims ON callers.TraceId = claims.TraceId AND callers.RunSpanId = claims.RunSpanId
    LEFT JOIN accused ON callers.TraceId = accused.TraceId
    WHERE Whole.2 = 'success' AND NOT claims.Reports
),

-- Each of them that did not succeed, with the innermost call during which it ran.
handed AS (
    SELECT
        *,
        arrayJoin(
            arrayFilter(
                run -> run.5 > LastDone AND (run.2 IN ('failure', 'partial') OR has(Contradicted, run.1)),
                Within
            )
        ) AS Other,
        arrayElement(
            arraySort(
                call -> (call.5, call.1), arrayFilter(call -> call.5 <= Other.4 AND call.6 >= Other.5, Calls)
            ), -1
        ) AS Call
    FROM outer_runs
)

SELECT
    TraceId,
    RunSpanId,
    toInt32(-1) AS Claim,
    '' AS ClaimSpanId,
    [Call.1] AS CallSpanIds,
    if(Other.2 = 'success', 'handoff.contradicted', 'handoff.reports_failure') AS EvidenceRule,
    Other.3 AS EvidenceValue,
    Other.1 AS EvidenceSpanId,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Call.2 AS Tool,
    toUnixTimestamp64Nano(Whole.4) AS At,
    if(Other.2 = 'failure' AND has(Praised, Call.1), 'high', 'medium') AS Severity
FROM handed
WHERE Call.1 != '' AND Call.3 != 'failure'
-- One finding for a call, whatever ran in it: the worst.
ORDER BY indexOf(['high', 'medium'], Severity) ASC, EvidenceSpanId ASC
LIMIT 1 BY TraceId, RunSpanId, CallSpanIds
