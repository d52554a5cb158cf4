-- When normals were counted (Unix milliseconds): the last time before `earliest`, and all until `latest`, exclusive.
SELECT DISTINCT toUnixTimestamp64Milli(Learned) AS LearnedMs
FROM overclaim_normals
WHERE
    Learned < fromUnixTimestamp64Milli({latest:Int64})
    AND Learned >= coalesce(
        (
            SELECT earlier.Learned
            FROM overclaim_normals AS earlier
            WHERE earlier.Learned < fromUnixTimestamp64Milli({earliest:Int64})
            ORDER BY earlier.Learned DESC
            LIMIT 1
        ), fromUnixTimestamp64Milli({earliest:Int64})
    )
ORDER BY LearnedMs
