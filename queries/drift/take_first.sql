-- Gives streams that have no reference their first one: their first whole days, at least {days} and as many as hold
-- {runs} runs, once these are over. Only streams with runs since {since} are looked at (Unix seconds); what started at
-- {until} or later is too young to count. The prior is filled in by measure_references.
-- A stream is one signal of one tool, of all runs of one agent, or of all agents of a service that has several; the
-- last only for signals without categories (named), since which tools are called follows from who runs.
INSERT INTO overclaim_references (
    Stream, ServiceName, Environment, Agent, Tool, Signal, Level, Direction, FromTick, UntilTick, Runs, Bad, Deff,
    Blocks, Since, Reason, Version
)
WITH
wanting AS (
    SELECT
        ServiceName,
        Environment,
        if(Level = 'service', '', toString(Agent)) AS Whose,
        Tool,
        Signal,
        Level,
        groupUniqArray(toString(Agent)) AS Agents
    FROM overclaim_behaviour FINAL
    ARRAY JOIN if(Tool = '', ['agent', 'service'], ['tool']) AS Level
    WHERE
        Tick >= toDateTime({since:UInt32}, 'UTC')
        AND Tick < toDateTime({until:UInt32}, 'UTC')
        AND Signal IN {signals:Array(String)}
    GROUP BY ServiceName, Environment, Whose, Tool, Signal, Level
    HAVING
        (Level != 'service' OR (length(Agents) > 1 AND Signal NOT IN {named:Array(String)}))
        AND lower(hex(sipHash128(ServiceName, Environment, Whose, Tool, Signal, Level, 'fixed'))) NOT IN (
            SELECT Stream FROM overclaim_references FINAL
        )
),

ticks AS (
    SELECT
        ServiceName,
        Environment,
        if(Level = 'service', '', toString(Agent)) AS Whose,
        Tool,
        Signal,
        Level,
        Tick,
        sum(Runs) AS N,
        sum(Bad) AS K
    FROM overclaim_behaviour FINAL
    ARRAY JOIN if(Tool = '', ['agent', 'service'], ['tool']) AS Level
    WHERE
        Tick < toDateTime({until:UInt32}, 'UTC')
        AND (ServiceName, Environment, toString(Agent), Tool, Signal) IN (
            SELECT
                ServiceName,
                Environment,
                arrayJoin(Agents),
                Tool,
                Signal
            FROM wanting
        )
        AND (ServiceName, Environment, Whose, Tool, Signal, Level) IN (
            SELECT
                ServiceName,
                Environment,
                Whose,
                Tool,
                Signal,
                Level
            FROM wanting
        )
    GROUP BY ServiceName, Environment, Whose, Tool, Signal, Level, Tick
),

counted AS (
    SELECT
        *,
        toStartOfHour(min(Tick) OVER (PARTITION BY ServiceName, Environment, Whose, Tool, Signal, Level)) AS First,
        sum(N) OVER (PARTITION BY ServiceName, Environment, Whose, Tool, Signal, Level ORDER BY Tick ASC) AS SoFar
    FROM ticks
),

windows AS (
    SELECT
        ServiceName,
        Environment,
        Whose,
        Tool,
        Signal,
        Level,
        First,
        minIf(Tick, SoFar >= {runs:UInt32}) AS Enough,
        First + toIntervalDay(greatest({days:UInt32}, intDiv(Enough - First, 86400) + 1)) AS Until
    FROM counted
    GROUP BY ServiceName, Environment, Whose, Tool, Signal, Level, First
    HAVING max(SoFar) >= {runs:UInt32} AND Until <= toDateTime({until:UInt32}, 'UTC')
)

SELECT
    lower(hex(sipHash128(ServiceName, Environment, Whose, Tool, Signal, Level, 'fixed'))) AS Stream,
    ServiceName,
    Environment,
    Whose AS Agent,
    Tool,
    Signal,
    Level,
    arrayJoin([1, -1]) AS Direction,
    First AS FromTick,
    Until AS UntilTick,
    0 AS Runs,
    0 AS Bad,
    1 AS Deff,
    1 AS Blocks,
    Until AS Since,
    'first' AS Reason,
    {version:UInt64} AS Version
FROM windows
