-- Open drifts of which no runs came since a time: whoever it was about has stopped, or has another name.
-- since: Unix seconds.
SELECT DriftId
FROM overclaim_drifts FINAL
WHERE
    State = 'open'
    AND (ServiceName, Environment, Agent, Tool, Signal) NOT IN (
        SELECT DISTINCT
            ServiceName,
            Environment,
            arrayJoin([toString(Agent), '']) AS Whose,
            Tool,
            Signal
        FROM overclaim_behaviour
        WHERE Tick >= toDateTime({since:UInt32}, 'UTC') AND Runs > 0
    )
ORDER BY DriftId ASC
