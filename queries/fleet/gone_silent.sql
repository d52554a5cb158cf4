-- Agents and tools that ran steadily and do so no more, although others go on: a tool while its agent runs, an agent
-- while others of its service do, a service while others of its environment do. Time is counted in the quarters of an
-- hour in which those others ran, so that nobody is silent at night, or where nothing arrives at all.
-- How sure: quarters with a run are taken to come at random, at a rate that differs from day to day (gamma), as much as
-- it did in the 28 days before the last one. A silence is told where one as long comes by chance so seldom that there
-- are at most {false_a_week} false ones a week among all that are watched; and where it is half as long again as
-- the longest of those 28 days. Not watched: what was seen in fewer than 50 quarters or on fewer than 10 days of them,
-- for less than 14 days, or on one day so much more than on another that nobody could call it steady.
-- until: quarters before it count, Unix seconds. What was silent for 28 days is gone, and is told no more.
WITH
runs AS (
    SELECT
        ServiceName,
        Environment,
        Agent,
        Tool,
        Tick,
        max((Last, LastTrace)) AS Latest
    FROM overclaim_seen FINAL
    WHERE
        Kind IN ('run', 'tool')
        AND Tick >= toDateTime({until:UInt32}, 'UTC') - INTERVAL 57 DAY
        AND Tick < toDateTime({until:UInt32}, 'UTC')
        AND Hour >= toDateTime({until:UInt32}, 'UTC') - INTERVAL 58 DAY
    GROUP BY ServiceName, Environment, Agent, Tool, Tick
),

-- What is watched: each service, agent and tool, and whose runs are its clock ('' for all of its environment).
own AS (
    SELECT
        Watched.1 AS Level,
        Environment,
        Watched.2 AS ServiceName,
        Watched.3 AS Agent,
        Watched.4 AS Tool,
        Watched.5 AS ClockService,
        Watched.6 AS ClockAgent,
        Tick,
        max(Latest) AS Latest
    FROM (
        SELECT
            Environment,
            Tick,
            Latest,
            arrayJoin(if(
                Tool = '',
                [
                    ('service', toString(ServiceName), '', '', '', ''),
                    ('agent', toString(ServiceName), toString(Agent), '', toString(ServiceName), '')
                ],
                [(
                    'tool', toString(ServiceName), toString(Agent), toString(Tool),
                    toString(ServiceName), toString(Agent)
                )]
            )) AS Watched
        FROM runs
    )
    GROUP BY Level, Environment, ServiceName, Agent, Tool, ClockService, ClockAgent, Tick
),

-- The quarters of each clock, numbered in their order.
clocks AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY Level, Environment, ClockService, ClockAgent
            ORDER BY Tick ASC
        ) AS Number
    FROM (
        SELECT DISTINCT
            Environment,
            Tick,
            arrayJoin([
                ('service', '', ''),
                ('agent', toString(ServiceName), ''),
                ('tool', toString(ServiceName), toString(Agent))
            ]) AS Clock,
            Clock.1 AS Level,
            Clock.2 AS ClockService,
            Clock.3 AS ClockAgent
        FROM runs
        WHERE Tool = ''
    )
),

-- Of each clock, the first and the last number of each day.
days AS (
    SELECT
        Level,
        Environment,
        ClockService,
        ClockAgent,
        max(LastOfDay) AS Now,
        arraySort(groupArray((Day, FirstOfDay, LastOfDay))) AS Days
    FROM (
        SELECT
            Level,
            Environment,
            ClockService,
            ClockAgent,
            toDate(Tick) AS Day,
            min(Number) AS FirstOfDay,
            max(Number) AS LastOfDay
        FROM clocks
        GROUP BY Level, Environment, ClockService, ClockAgent, Day
    )
    GROUP BY Level, Environment, ClockService, ClockAgent
),

series AS (
    SELECT
        own.Level AS Level,
        own.Environment AS Environment,
        own.ServiceName AS ServiceName,
        own.Agent AS Agent,
        own.Tool AS Tool,
        own.ClockService AS ClockService,
        own.ClockAgent AS ClockAgent,
        max(own.Latest) AS Latest,
        max(own.Tick) AS LastTick,
        arraySort(groupArray((own.Tick, clocks.Number))) AS Every,
        -- The reference: its quarters of the 28 days before the last one.
        arrayFilter(one -> one.1 > LastTick - INTERVAL 28 DAY, Every) AS Marks,
        arrayMap(one -> one.1, Marks) AS Ticks,
        arrayMap(one -> one.2, Marks) AS Numbers
    FROM own
    INNER JOIN clocks
        ON
            own.Level = clocks.Level
            AND own.Environment = clocks.Environment
            AND own.ClockService = clocks.ClockService
            AND own.ClockAgent = clocks.ClockAgent
            AND own.Tick = clocks.Tick
    GROUP BY Level, Environment, ServiceName, Agent, Tool, ClockService, ClockAgent
    HAVING
        length(Marks) >= 50
        AND dateDiff('day', Ticks[1], LastTick) >= 14
        AND LastTick > toDateTime({until:UInt32}, 'UTC') - INTERVAL 28 DAY
),

watched AS (
    SELECT
        series.Level AS Level,
        series.Environment AS Environment,
        series.ServiceName AS ServiceName,
        series.Agent AS Agent,
        series.Tool AS Tool,
        series.Latest AS Latest,
        length(series.Numbers) AS Runs,
        series.Numbers[1] AS Begin,
        series.Numbers[-1] AS End,
        arrayFilter(day -> day.3 >= Begin AND day.2 <= End, days.Days) AS Days,
        -- Of each day, the quarters of the clock within the reference, and those of its own.
        arrayMap(day -> least(day.3, End) - greatest(day.2, Begin) + 1, Days) AS Exposed,
        arrayMap(tick -> toDate(tick), series.Ticks) AS OwnDays,
        arrayMap(day -> countEqual(OwnDays, day.1), Days) AS Counted,
        Runs / (End - Begin + 1) AS Rate,
        -- What the counts of days differ by beyond chance, as one over the shape of a gamma; two standard errors more,
        -- since few days tell little of it; never nothing, since no two days are quite alike.
        greatest(
            0.05,
            (1 + 2 * sqrt(2 / length(Days)))
            * (arraySum((ran, could) -> pow(ran - Rate * could, 2), Counted, Exposed) - Runs)
            / arraySum(could -> pow(Rate * could, 2), Exposed)
        ) AS Spread,
        days.Now - End AS Silent,
        arrayMax(arrayDifference(series.Numbers)) AS Longest,
        pow(1 + Rate * Silent * Spread, -1 / Spread) AS Chance,
        -- Each quarter of its own may begin a silence: how many do in a week.
        Runs * 7 / (1 + dateDiff('day', series.Ticks[1], series.LastTick)) AS Begun,
        sum(Begun) OVER () AS AllBegun
    FROM series
    INNER JOIN days
        ON
            series.Level = days.Level
            AND series.Environment = days.Environment
            AND series.ClockService = days.ClockService
            AND series.ClockAgent = days.ClockAgent
    WHERE length(arrayDistinct(OwnDays)) >= 10
)

SELECT
    concat(Level, '|', Environment, '|', ServiceName, '|', Agent, '|', Tool) AS Subject,
    'medium' AS Severity,
    ServiceName,
    Environment,
    Agent,
    Tool,
    '' AS Value,
    [Latest.2] AS Traces,
    toUnixTimestamp64Nano(Latest.1) AS At,
    concat(
        Level, ' ', multiIf(Level = 'tool', Tool, Level = 'agent', Agent, ServiceName),
        ', last seen ', formatDateTime(Latest.1, '%Y-%m-%d %H:%i', 'UTC'), ' UTC'
    ) AS Detail
FROM watched
WHERE
    Spread <= 2
    AND Silent > 1.5 * Longest
    AND Chance <= {false_a_week:Float64} / AllBegun
ORDER BY Subject ASC
