-- How many drifts are open, per service.
SELECT
    ServiceName,
    Environment,
    countIf(State = 'open' AND Shown AND Under = '') AS Drifts
FROM overclaim_drifts FINAL
GROUP BY ServiceName, Environment
ORDER BY ServiceName ASC, Environment ASC
