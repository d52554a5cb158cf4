-- What was seen for the first time in the 28 days before {until} (Unix seconds), after a time of learning: a tool that
-- an agent never called, a kind of error that a tool never showed, the name of an argument that a tool never got.
-- kind: tool, error or argument. of: the kind whose first sight begins the learning (run, tool or argument), which
-- lasts for seven days and fifty runs at least. Quiet where new ones are usual: where three others or more came within
-- 28 days of it, before or after; those of the same day and of the time of learning are not counted.
WITH
seen AS (
    SELECT
        Kind,
        ServiceName,
        Environment,
        -- Of a tool it matters who calls it; its errors and arguments are its own, whoever calls it.
        if({kind:String} = 'tool', toString(Agent), '') AS Caller,
        if({kind:String} = 'tool', '', toString(Tool)) AS Called,
        if({kind:String} = 'tool', toString(Tool), toString(Value)) AS New,
        Hour,
        Runs,
        First,
        FirstTrace,
        toString(Agent) AS By
    FROM overclaim_seen FINAL
    WHERE Kind IN ({kind:String}, {of:String}, if({kind:String} = 'tool', 'run', 'tool'))
),

known AS (
    SELECT
        ServiceName,
        Environment,
        Caller,
        Called,
        minIf(First, Kind = {of:String}) AS Since,
        -- By hour, the runs of the agent, or those in which the tool was called.
        groupArrayIf((Hour, Runs), Kind = if({kind:String} = 'tool', 'run', 'tool')) AS Hours
    FROM seen
    GROUP BY ServiceName, Environment, Caller, Called
),

firsts AS (
    SELECT
        ServiceName,
        Environment,
        Caller,
        Called,
        New,
        min(seen.First) AS Began,
        argMin(FirstTrace, (seen.First, FirstTrace)) AS Trace,
        argMin(By, (seen.First, FirstTrace)) AS Who
    FROM seen
    WHERE Kind = {kind:String}
    GROUP BY ServiceName, Environment, Caller, Called, New
),

others AS (
    SELECT
        ServiceName,
        Environment,
        Caller,
        Called,
        groupArray(Began) AS Moments
    FROM firsts
    WHERE Began >= toDateTime({until:UInt32}, 'UTC') - INTERVAL 57 DAY
    GROUP BY ServiceName, Environment, Caller, Called
    -- So many are usual, and each would be compared with each.
    HAVING count() <= 1000
)

SELECT
    concat(
        firsts.ServiceName, '|', firsts.Environment, '|', firsts.Caller, '|', firsts.Called, '|', firsts.New
    ) AS Subject,
    'low' AS Severity,
    firsts.ServiceName AS ServiceName,
    firsts.Environment AS Environment,
    firsts.Who AS Agent,
    if({kind:String} = 'tool', firsts.New, firsts.Called) AS Tool,
    if({kind:String} = 'tool', '', firsts.New) AS Value,
    [firsts.Trace] AS Traces,
    toUnixTimestamp64Nano(firsts.Began) AS At,
    if({kind:String} = 'tool', concat(firsts.Who, ' calls ', firsts.New), concat(firsts.Called, ': ', firsts.New))
        AS Detail
FROM firsts
INNER JOIN known
    ON
        firsts.ServiceName = known.ServiceName
        AND firsts.Environment = known.Environment
        AND firsts.Caller = known.Caller
        AND firsts.Called = known.Called
INNER JOIN others
    ON
        firsts.ServiceName = others.ServiceName
        AND firsts.Environment = others.Environment
        AND firsts.Caller = others.Caller
        AND firsts.Called = others.Called
WHERE
    firsts.Began >= toDateTime({until:UInt32}, 'UTC') - INTERVAL 28 DAY
    AND firsts.Began >= known.Since + INTERVAL 7 DAY
    AND arraySum(arrayMap(
        one -> if(one.1 >= toStartOfHour(known.Since) AND one.1 < toStartOfHour(firsts.Began), one.2, 0), known.Hours
    )) >= 50
    AND arrayCount(
        moment -> moment >= known.Since + INTERVAL 7 DAY
        AND abs(dateDiff('second', moment, firsts.Began)) BETWEEN 86400 AND 28 * 86400,
        others.Moments
    ) < 3
ORDER BY Subject ASC
