-- How many runs of a stream started between two times.
-- Parameters: service, environment, agent (empty: all of them), tool, signal String (what the stream is about),
-- from, until UInt32 (Unix seconds)
SELECT sum(Runs) AS Runs
FROM overclaim_behaviour FINAL
WHERE
    ServiceName = {service:String}
    AND Environment = {environment:String}
    AND ({agent:String} = '' OR Agent = {agent:String})
    AND Tool = {tool:String}
    AND Signal = {signal:String}
    AND Tick >= toDateTime({from:UInt32}, 'UTC')
    AND Tick < toDateTime({until:UInt32}, 'UTC')
