-- The agents with the most runs that claim more than they did.
-- Parameters:
--   since DateTime64(3, 'UTC'): runs that started then or later
--   rows UInt32: how many rows at most
SELECT
    ServiceName AS Service,
    Agent,
    count() AS Runs,
    countIf(Label IN ('contradicted', 'unsupported', 'pending')) AS Accused
FROM overclaim_run_verdicts
WHERE Started >= {since:DateTime64(3, 'UTC')}
GROUP BY Service, Agent
HAVING Accused > 0
ORDER BY Accused DESC, Service ASC, Agent ASC
LIMIT {rows:UInt32}
