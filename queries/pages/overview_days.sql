-- How many claims agents made on each day, and how many of them are accused: contradicted, unsupported or pending.
-- Parameters:
--   since DateTime64(3, 'UTC'): runs that started then or later
SELECT
    toDate(Started) AS Day,
    count() AS Claims,
    countIf(Label IN ('contradicted', 'unsupported', 'pending')) AS Accused
FROM overclaim_claim_verdicts
WHERE Started >= {since:DateTime64(3, 'UTC')}
GROUP BY Day
ORDER BY Day ASC
