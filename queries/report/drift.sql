-- Drifts that are open, one row each, the worst first: by how many runs more than usual went wrong, and how grave that
-- is.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: with all, drifts that were closed or accepted then or later
--   all UInt8 = 0: 1 for those, too, and for those that are too small to matter, or part of another
--   rows UInt32 = 1000: how many rows at most
-- How to read it: an alarm comes when a change is as surprising as the budget asks for; ByChance is how many weeks it
-- takes on average until that happens to this stream with nothing changed, or 1000 where it is more. Part names the
-- drift of a tool or agent that makes up most of this one.
SELECT
    ChangeAt AS Since,
    Severity,
    State,
    ServiceName AS Service,
    Agent,
    Tool,
    if(Tool != '', toString(Tool), if(Agent != '', toString(Agent), toString(ServiceName))) AS Who,
    Signal,
    round(100 * RefBad / nullIf(RefRuns, 0), 1) AS Was,
    round(100 * NowBad / nullIf(NowRuns, 0), 1) AS Now,
    round(Excess) AS ExtraRuns,
    Sentence,
    arrayStringConcat(
        arrayMap(
            one -> concat(
                one.1, ' ', one.2, ' ', toString(round(100 * one.3, 1)), ' -> ', toString(round(100 * one.4, 1)), ' %'
            ),
            Cause
        ),
        ', '
    ) AS Causes,
    round(100 * RateEffect, 1) AS ByBehaviour,
    round(100 * MixEffect, 1) AS ByTraffic,
    round(least(exp(least(LogE, 20.)) / 168, 1000)) AS ByChance,
    arrayStringConcat(Traces, ' ') AS TraceIds,
    Under AS Part,
    Reason,
    DriftId
FROM overclaim_drifts FINAL
WHERE
    (State = 'open' AND Shown AND Under = '')
    OR ({all:UInt8} AND (State = 'open' OR ClosedAt >= {since:DateTime64(3, 'UTC')}))
ORDER BY
    State = 'open' DESC,
    abs(Excess) * transform(toString(Severity), ['high', 'medium', 'low'], [4, 2, 1], 1) DESC,
    DriftId ASC
LIMIT {rows:UInt32}
