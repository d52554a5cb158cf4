-- The verdicts on the runs that started within the last day, per service and agent; the largest ones only, since each
-- is a time series where it goes to.
-- Parameters: most UInt32 (rows at most)
SELECT
    ServiceName,
    Environment,
    Agent,
    Label,
    count() AS Runs
FROM overclaim_run_verdicts
WHERE Started >= now() - toIntervalDay(1)
GROUP BY ServiceName, Environment, Agent, Label
ORDER BY Runs DESC, ServiceName ASC, Environment ASC, Agent ASC, Label ASC
LIMIT {most:UInt32}
