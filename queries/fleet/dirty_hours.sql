-- The hours in which runs started that were labelled by a pass from {after} on (its number), the oldest first, with the
-- number of the newest pass and how many rows it is about: also those in which a run was taken back.
SELECT
    toUnixTimestamp(toStartOfHour(Started)) AS Hour,
    max(Version) AS Newest,
    count() AS Touched
FROM overclaim_runs
WHERE Version >= {after:UInt64}
GROUP BY Hour
ORDER BY Hour ASC
