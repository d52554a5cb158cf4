-- How many rows of a table arrived in each minute (Unix seconds).
SELECT
    toUnixTimestamp(toStartOfMinute(Received)) AS Minute,
    count() AS Arrived
FROM {table:Identifier}
GROUP BY Minute
ORDER BY Minute
