-- The references that streams are compared with, one row per stream: the same in both directions.
SELECT
    Stream,
    ServiceName,
    Environment,
    Agent,
    Tool,
    Signal,
    Level,
    toUnixTimestamp(FromTick) AS FromTick,
    toUnixTimestamp(UntilTick) AS UntilTick,
    Runs,
    Bad,
    Deff,
    Kind,
    toUnixTimestamp(Since) AS Since
FROM overclaim_references FINAL
WHERE notEmpty(A) AND notEmpty(Parts) AND Signal IN {signals:Array(String)}
ORDER BY Stream ASC
LIMIT 1 BY Stream
