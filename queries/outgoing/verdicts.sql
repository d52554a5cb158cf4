-- The verdicts on the runs that started within the last day, per service and agent; all verdicts of the agents with the
-- most runs, since each is a time series where it goes to.
-- Parameters: most UInt32 (agents at most)
WITH
largest AS (
    SELECT
        ServiceName,
        Environment,
        Agent
    FROM overclaim_run_verdicts
    WHERE Started >= now() - toIntervalDay(1)
    GROUP BY ServiceName, Environment, Agent
    ORDER BY count() DESC, ServiceName ASC, Environment ASC, Agent ASC
    LIMIT {most:UInt32}
)

SELECT
    ServiceName,
    Environment,
    Agent,
    Label,
    count() AS Runs
FROM overclaim_run_verdicts
WHERE
    Started >= now() - toIntervalDay(1)
    AND (ServiceName, Environment, Agent) IN (SELECT * FROM largest)
GROUP BY ServiceName, Environment, Agent, Label
ORDER BY Runs DESC, ServiceName ASC, Environment ASC, Agent ASC, Label ASC
