-- The streams with a reference that have something new: runs since {since} (Unix seconds), or runs that started in one
-- of some hours (their starts, Unix seconds), which were counted anew. earliest: the first of all these times.
SELECT DISTINCT Stream
FROM overclaim_references FINAL
WHERE
    notEmpty(A)
    AND notEmpty(Parts)
    AND (ServiceName, Environment, Agent, Tool, Signal, Level) IN (
        SELECT DISTINCT
            ServiceName,
            Environment,
            if(Level = 'service', '', toString(Agent)) AS Whose,
            Tool,
            Signal,
            Level
        FROM overclaim_behaviour
        ARRAY JOIN if(Tool = '', ['agent', 'service'], ['tool']) AS Level
        WHERE
            Tick >= toDateTime({earliest:UInt32}, 'UTC')
            AND (
                Tick >= toDateTime({since:UInt32}, 'UTC')
                OR toUnixTimestamp(toStartOfHour(Tick)) IN {hours:Array(UInt32)}
            )
    )
ORDER BY Stream ASC
