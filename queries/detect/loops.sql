-- Runs of some traces that went round in circles: five calls in a row of one operation, or more, that ended alike and
-- not well; or two operations by turns, four times each, that each ended alike, one of them not well and the other
-- without a change. Quiet where what did not end well did so later: a wait that came to its end is no circle.
WITH
-- Few runs have that much that did not end well; only their calls are looked at one by one.
rough AS (
    SELECT
        TraceId,
        RunSpanId
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Observed IN ('failure', 'empty', 'pending')
    GROUP BY TraceId, RunSpanId
    HAVING count() >= 4
),

runs AS (
    SELECT
        TraceId,
        RunSpanId,
        any(ServiceName) AS ServiceName,
        any(Environment) AS Environment,
        any(Agent) AS Agent,
        any(AgentVersion) AS AgentVersion,
        any(Model) AS Model,
        arraySort(
            groupArray((
                Position,
                SpanId,
                concat(Operation, ' ', Observed),
                Operation,
                Observed IN ('failure', 'empty', 'pending'),
                Observed = 'success',
                Observed = 'success' AND Effect != 'read',
                Tool,
                toUnixTimestamp64Nano(Started)
            ))
        ) AS Turns
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN (SELECT rough.TraceId FROM rough)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    GROUP BY TraceId, RunSpanId
    HAVING count() >= 5 AND sum(Observed IN ('failure', 'empty', 'pending')) >= 4
),

-- A turn: place in the run, span, what makes it like another, operation, whether it did not end well, whether it did,
-- whether it changed something, tool, start.
-- Places of calls in which each is like the one before (Period 1), or like the last but one (Period 2).
stretches AS (
    SELECT
        *,
        Turns.3 AS Likes,
        arrayJoin([1, 2]) AS Period,
        arrayJoin(
            arraySplit(
                place -> place > Period AND Likes[place] != Likes[place - Period],
                arrayEnumerate(Likes)
            )
        ) AS Places,
        -- Where two go by turns, the call before the first that is like an earlier one has its turn, too.
        if(Places[1] > Period, Places[1] - Period + 1, Places[1]) AS First,
        arraySlice(Turns, First, Places[-1] - First + 1) AS Circle,
        Circle[1] AS One,
        Circle[2] AS Other
    FROM runs
    WHERE length(Turns) >= 5
)

SELECT
    TraceId,
    RunSpanId,
    toInt32(-1) AS Claim,
    '' AS ClaimSpanId,
    -- As many as make it a circle, so that one more turn does not make it another finding.
    arraySlice(Circle.2, 1, if(Period = 1, 5, 8)) AS CallSpanIds,
    if(Period = 1, 'calls.repeated', 'calls.by_turns') AS EvidenceRule,
    toString(length(Circle)) AS EvidenceValue,
    arrayElement(Circle.2, -1) AS EvidenceSpanId,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    if(One.5, One.8, Other.8) AS Tool,
    One.9 AS At,
    'low' AS Severity,
    concat(toString(length(Circle)), ' calls') AS Detail
FROM stretches
WHERE
    length(Circle) >= if(Period = 1, 5, 8)
    AND One.4 != ''
    AND Other.4 != ''
    AND if(Period = 1, One.5, One.4 != Other.4 AND (One.5 OR Other.5) AND NOT (One.7 OR Other.7))
    AND NOT arrayExists(
        turn -> turn.6 AND ((One.5 AND turn.4 = One.4) OR (Other.5 AND turn.4 = Other.4)),
        arraySlice(Turns, Places[-1] + 1)
    )
