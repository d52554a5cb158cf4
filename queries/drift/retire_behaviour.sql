-- Takes back the counts of some hours that the count of this version did not find again.
-- hours: their starts, Unix seconds, all between earliest and latest.
INSERT INTO overclaim_behaviour (
    Tick, ServiceName, Environment, Agent, AgentVersion, ServiceVersion, Model, Prompt, Tool, ToolVersion, Signal,
    Version, Deleted
)
SELECT
    Tick,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    ServiceVersion,
    Model,
    Prompt,
    Tool,
    ToolVersion,
    Signal,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_behaviour FINAL
WHERE
    Tick >= toDateTime({earliest:UInt32}, 'UTC')
    AND Tick < toDateTime({latest:UInt32}, 'UTC') + INTERVAL 1 HOUR
    AND toUnixTimestamp(toStartOfHour(Tick)) IN {hours:Array(UInt32)}
    AND Version < {version:UInt64}
