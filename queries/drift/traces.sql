-- Up to three of the newest traces that show a drift, since {now_from} (Unix seconds).
SELECT arraySlice(arrayDistinct(arrayFlatten(groupArray(Traces))), 1, 3) AS Traces
FROM (
    SELECT Traces
    FROM overclaim_behaviour FINAL
    WHERE
        ServiceName = {service:String}
        AND Environment = {environment:String}
        AND ({agent:String} = '' OR Agent = {agent:String})
        AND Tool = {tool:String}
        AND Signal = {signal:String}
        AND Tick >= toDateTime({now_from:UInt32}, 'UTC')
        AND Tick < toDateTime({now_until:UInt32}, 'UTC')
        AND notEmpty(Traces)
    ORDER BY Tick DESC, Model ASC, AgentVersion ASC, Prompt ASC
    LIMIT 3
)
