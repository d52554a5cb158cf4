-- Releases: when an agent first ran with a version, service version, model or prompt that it did not have before, of
-- which it made at least {runs} runs by now, {days} days or more after its first run. Only agents with runs since
-- {since}, and only runs before {until} (Unix seconds).
WITH
seen AS (
    SELECT
        ServiceName,
        Environment,
        Agent,
        Tick,
        Runs,
        [
            ('agent version', toString(AgentVersion)),
            ('service version', toString(ServiceVersion)),
            ('model', toString(Model)),
            ('prompt', toString(Prompt))
        ] AS Pairs
    FROM overclaim_behaviour FINAL
    WHERE
        Signal = 'runs'
        AND Tool = ''
        AND Tick < toDateTime({until:UInt32}, 'UTC')
        AND (ServiceName, Environment, Agent) IN (
            SELECT
                ServiceName,
                Environment,
                Agent
            FROM overclaim_behaviour AS lately
            WHERE Signal = 'runs' AND Tool = '' AND lately.Tick >= toDateTime({since:UInt32}, 'UTC')
        )
),

firsts AS (
    SELECT
        ServiceName,
        Environment,
        Agent,
        Pair.1 AS Kind,
        Pair.2 AS Value,
        min(Tick) AS First,
        sum(Runs) AS Made
    FROM seen
    ARRAY JOIN Pairs AS Pair
    WHERE Pair.2 != ''
    GROUP BY ServiceName, Environment, Agent, Kind, Value
)

SELECT
    ServiceName,
    Environment,
    Agent,
    arrayStringConcat(arraySort(groupArray(concat(Kind, ' ', Value))), ', ') AS Marker,
    toUnixTimestamp(First) AS At,
    toUnixTimestamp(any(Begun)) AS FirstRun
FROM (
    SELECT
        *,
        min(First) OVER (PARTITION BY ServiceName, Environment, Agent) AS Begun
    FROM firsts
)
WHERE Made >= {runs:UInt32} AND First >= Begun + toIntervalDay({days:UInt32})
GROUP BY ServiceName, Environment, Agent, First
ORDER BY ServiceName ASC, Environment ASC, Agent ASC, At ASC
