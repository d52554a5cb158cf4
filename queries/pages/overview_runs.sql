-- How many runs were judged, how many of them could not be, and how many told their users nothing that can be judged.
-- Parameters:
--   since DateTime64(3, 'UTC'): runs that started then or later
SELECT
    count() AS Runs,
    countIf(Label IN ('contradicted', 'unsupported', 'pending')) AS Accused,
    countIf(Label = 'incomplete') AS Incomplete,
    countIf(Label = 'no_claim') AS NoClaim
FROM overclaim_run_verdicts
WHERE Started >= {since:DateTime64(3, 'UTC')}
