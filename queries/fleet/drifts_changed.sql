-- The newest change to any drift, as Unix milliseconds; 0 where there is none.
SELECT max(Version) AS Newest
FROM overclaim_drifts
