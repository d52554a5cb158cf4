-- The hours whose runs were judged by a pass from {after} on (its number), with the number of the newest pass and how
-- many rows it is about. A run that moved within its hour leaves no trace at its old quarter, so whole hours are named.
SELECT
    toUnixTimestamp(toStartOfHour(Started)) AS Hour,
    max(Version) AS Newest,
    count() AS Touched
FROM (
    SELECT
        Started,
        Version
    FROM overclaim_runs
    WHERE Version >= {after:UInt64}
    UNION ALL
    SELECT
        Started,
        Version
    FROM overclaim_verdicts
    WHERE Version >= {after:UInt64} AND Claim = -1
)
GROUP BY Hour
ORDER BY Hour ASC
