-- Runs of some traces that ended without a final message after a call that did not end well, although the agent gave a
-- message in nine of ten of its last runs, of which there are twenty or more. Runs of which anything else is missing,
-- and those that end with a hand-off, are left out.
-- history: how many of the newest runs are looked at, of all agents, from seven days before on.
WITH
left_off AS (
    SELECT *
    FROM overclaim_runs FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Gaps = ['no_final_message']
        AND Calls > 0
        AND Agent != ''
),

last_calls AS (
    SELECT
        TraceId,
        RunSpanId,
        argMax((SpanId, Tool, Observed, Action, Grade), Position) AS Call
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN (SELECT left_off.TraceId FROM left_off)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    GROUP BY TraceId, RunSpanId
),

newest AS (
    SELECT
        TraceId,
        SpanId,
        ServiceName,
        Agent,
        Gaps,
        Started,
        Version,
        Deleted
    FROM overclaim_runs
    WHERE
        Started >= fromUnixTimestamp64Nano({earliest:Int64}) - INTERVAL 7 DAY
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    ORDER BY toStartOfHour(Started) DESC
    LIMIT {history:UInt64}
),

-- The starts of the runs of each agent, and of those with a message.
habits AS (
    SELECT
        ServiceName,
        Agent,
        groupArray(Started) AS Runs,
        groupArrayIf(Started, NOT has(Gaps, 'no_final_message')) AS Spoken
    FROM (
        SELECT * FROM newest
        ORDER BY Version DESC
        LIMIT 1 BY TraceId, SpanId
    )
    -- A row that was taken back names no agent, so this comes last.
    WHERE NOT Deleted AND (ServiceName, Agent) IN (SELECT (left_off.ServiceName, left_off.Agent) FROM left_off)
    GROUP BY ServiceName, Agent
)

SELECT
    left_off.TraceId AS TraceId,
    left_off.SpanId AS RunSpanId,
    toInt32(-1) AS Claim,
    '' AS ClaimSpanId,
    [last_calls.Call.1] AS CallSpanIds,
    'run.no_final_message' AS EvidenceRule,
    last_calls.Call.3 AS EvidenceValue,
    last_calls.Call.1 AS EvidenceSpanId,
    left_off.ServiceName AS ServiceName,
    left_off.Environment AS Environment,
    left_off.Agent AS Agent,
    left_off.AgentVersion AS AgentVersion,
    left_off.Model AS Model,
    last_calls.Call.2 AS Tool,
    toUnixTimestamp64Nano(left_off.Started) AS At,
    'medium' AS Severity,
    arrayCount(moment -> moment < left_off.Started, habits.Runs) AS Before
FROM left_off
INNER JOIN last_calls ON left_off.TraceId = last_calls.TraceId AND left_off.SpanId = last_calls.RunSpanId
INNER JOIN habits ON left_off.ServiceName = habits.ServiceName AND left_off.Agent = habits.Agent
WHERE
    last_calls.Call.3 IN ('failure', 'pending')
    AND last_calls.Call.4 != 'delegate'
    AND last_calls.Call.5 != 'suspect'
    AND Before >= 20
    AND arrayCount(moment -> moment < left_off.Started, habits.Spoken) >= 0.9 * Before
