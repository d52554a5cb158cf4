-- When normals were counted (Unix milliseconds): the last time before `earliest`, and all until `latest`, exclusive.
WITH (
    SELECT Learned FROM overclaim_normals
    WHERE Learned < fromUnixTimestamp64Milli({earliest:Int64})
    ORDER BY Learned DESC
    LIMIT 1
) AS Last
SELECT DISTINCT toUnixTimestamp64Milli(Learned) AS LearnedMs
FROM overclaim_normals
WHERE
    Learned >= coalesce(Last, fromUnixTimestamp64Milli({earliest:Int64}))
    AND Learned < fromUnixTimestamp64Milli({latest:Int64})
ORDER BY LearnedMs
