-- In how many runs of a day something happened, and in how many it could be told.
-- Parameters:
--   service String, environment String, tool String, signal String: of overclaim_behaviour
--   agent String: the agent, or empty for all agents of the service
--   since DateTime64(3, 'UTC'): runs that started then or later
SELECT
    toDate(Tick) AS Day,
    toUInt64(sum(Bad)) AS Bad,
    toUInt64(sum(Runs)) AS Runs
FROM overclaim_behaviour FINAL
WHERE
    ServiceName = {service:String}
    AND Environment = {environment:String}
    AND Tool = {tool:String}
    AND Signal = {signal:String}
    AND ({agent:String} = '' OR Agent = {agent:String})
    AND Tick >= {since:DateTime64(3, 'UTC')}
GROUP BY Day
ORDER BY Day ASC
