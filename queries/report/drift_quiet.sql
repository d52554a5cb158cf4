-- What report/drift does not show: streams that are quiet, with the smallest and the largest change that they would
-- have shown within a week (points of a rate), and streams with runs in the last 28 days that could not be judged yet.
-- Parameters:
--   now DateTime64(3, 'UTC') = now(): the 28 days before it count
--   least_runs UInt32 = 100: runs that a reference takes
--   least_days UInt32 = 7: days that a reference takes
WITH
open AS (
    SELECT
        countIf(Shown AND Under != '') AS Parts,
        countIf(NOT Shown) AS Small
    FROM overclaim_drifts FINAL
    WHERE State = 'open'
),

drifting AS (
    SELECT
        ServiceName,
        Environment,
        Agent,
        Tool,
        Signal,
        Level
    FROM overclaim_drifts FINAL
    WHERE State = 'open'
),

streams AS (
    SELECT
        ServiceName,
        Environment,
        Agent,
        Tool,
        Signal,
        Level,
        min(SmallestChange) AS Visible
    FROM overclaim_drift_streams FINAL
    WHERE Direction = if(Signal = 'verified', -1, 1)
    GROUP BY ServiceName, Environment, Agent, Tool, Signal, Level
    HAVING (ServiceName, Environment, Agent, Tool, Signal, Level) NOT IN (SELECT * FROM drifting)
),

unjudged AS (
    SELECT
        concat(if(Tool = '', '', concat(toString(Tool), ' of ')), toString(Agent), ' (', Signal, ')') AS Name,
        sum(Runs) AS N,
        dateDiff('day', min(Tick), {now:DateTime64(3, 'UTC')}) AS Days
    FROM overclaim_behaviour FINAL
    WHERE Signal != 'runs' AND Tick >= {now:DateTime64(3, 'UTC')} - INTERVAL 28 DAY
    GROUP BY ServiceName, Environment, Agent, Tool, Signal
    HAVING (ServiceName, Environment, Agent, Tool, Signal) NOT IN (
        SELECT
            ServiceName,
            Environment,
            Agent,
            Tool,
            Signal
        FROM overclaim_references FINAL
    )
    ORDER BY Tool = '' DESC, N DESC, Name ASC
)

SELECT
    (SELECT Parts FROM open) AS Parts,
    (SELECT Small FROM open) AS Small,
    (SELECT count() FROM streams) AS Quiet,
    (SELECT countIf(isNaN(Visible)) FROM streams) AS Blind,
    (SELECT round(100 * minIf(Visible, NOT isNaN(Visible)), 1) FROM streams) AS Smallest,
    (SELECT round(100 * maxIf(Visible, NOT isNaN(Visible)), 1) FROM streams) AS Largest,
    (SELECT count() FROM unjudged) AS NotYet,
    (
        SELECT
            arraySlice(
                groupArray(
                    concat(
                        Name, ': ', toString(N), ' of ', toString({least_runs:UInt32}), ' runs, ', toString(Days),
                        ' of ', toString({least_days:UInt32}), ' days'
                    )
                ),
                1,
                3
            )
        FROM unjudged
    ) AS Lacking
