-- Gives the streams of an agent a reference for a release: the time {from} to {until} before it (Unix seconds), where
-- that holds {runs} runs. They are compared with it from the next full hour on. marker: what is new.
-- Streams that are compared since then, or later, with a reference of this kind are left alone.
INSERT INTO overclaim_references (
    Stream, ServiceName, Environment, Agent, Tool, Signal, Level, Direction, FromTick, UntilTick, Runs, Bad, Deff,
    Blocks, Since, Reason, Marker, Version
)
SELECT
    lower(hex(sipHash128(ServiceName, Environment, toString(Agent), Tool, Signal, Level, 'release'))) AS Stream,
    ServiceName,
    Environment,
    toString(Agent) AS Agent,
    Tool,
    Signal,
    if(Tool = '', 'agent', 'tool') AS Level,
    arrayJoin([1, -1]) AS Direction,
    toDateTime({from:UInt32}, 'UTC') AS FromTick,
    toDateTime({until:UInt32}, 'UTC') AS UntilTick,
    0 AS Runs,
    0 AS Bad,
    1 AS Deff,
    1 AS Blocks,
    toStartOfHour(UntilTick + INTERVAL 59 MINUTE) AS Since,
    'release' AS Reason,
    {marker:String} AS Marker,
    {version:UInt64} AS Version
FROM overclaim_behaviour FINAL
WHERE
    ServiceName = {service:String}
    AND Environment = {environment:String}
    AND Agent = {agent:String}
    AND Signal IN {signals:Array(String)}
    AND Tick >= toDateTime({from:UInt32}, 'UTC')
    AND Tick < toDateTime({until:UInt32}, 'UTC')
GROUP BY ServiceName, Environment, Agent, Tool, Signal
HAVING
    sum(overclaim_behaviour.Runs) >= {runs:UInt32}
    AND Stream NOT IN (
        SELECT Stream FROM overclaim_references FINAL
        WHERE Since >= toDateTime({until:UInt32}, 'UTC')
    )
