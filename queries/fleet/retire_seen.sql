-- Takes back what was seen in some hours and that the count of this version did not find again.
-- hours: their starts, Unix seconds, all between earliest and latest.
INSERT INTO overclaim_seen (
    Kind, ServiceName, Environment, Agent, Tool, Value, Hour, Tick, Version, Deleted
)
SELECT
    Kind,
    ServiceName,
    Environment,
    Agent,
    Tool,
    Value,
    Hour,
    Tick,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_seen FINAL
WHERE
    Hour >= toDateTime({earliest:UInt32}, 'UTC')
    AND Hour <= toDateTime({latest:UInt32}, 'UTC')
    AND toUnixTimestamp(Hour) IN {hours:Array(UInt32)}
    AND Version < {version:UInt64}
