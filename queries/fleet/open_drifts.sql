-- Drifts that are open, large enough to be shown, and no part of another.
SELECT
    DriftId AS Subject,
    Severity,
    ServiceName,
    Environment,
    Agent,
    Tool,
    Signal AS Value,
    Traces,
    toUnixTimestamp(ChangeAt) * 1000000000 AS At,
    Sentence AS Detail
FROM overclaim_drifts FINAL
WHERE State = 'open' AND Shown AND Under = ''
ORDER BY Subject ASC
