-- How many failures report/silent leaves out, since somebody noticed.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: calls that started then or later
WITH
findings AS (
    SELECT DISTINCT
        TraceId,
        CallSpanIds[1] AS CallSpanId
    FROM overclaim_findings FINAL
    WHERE Open AND Claim = -1 AND NOT startsWith(Rule, 'OC4') AND At >= {since:DateTime64(3, 'UTC')}
)

SELECT count() AS Noticed
FROM findings
INNER JOIN overclaim_failures AS failures FINAL
    ON findings.TraceId = failures.TraceId AND findings.CallSpanId = failures.SpanId
WHERE failures.Started >= {since:DateTime64(3, 'UTC')} AND (failures.Mended OR failures.Reported OR failures.Accused)
