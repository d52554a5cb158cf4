-- The tools with the most findings that stand.
-- Parameters:
--   since DateTime64(3, 'UTC'): runs that started then or later
--   rows UInt32: how many rows at most
SELECT
    Tool,
    count() AS Findings,
    uniqExact(TraceId, RunSpanId) AS Runs,
    argMax(EvidenceRule, At) AS Evidence
FROM overclaim_findings FINAL
WHERE Open AND Tool != '' AND At >= {since:DateTime64(3, 'UTC')}
GROUP BY Tool
ORDER BY Findings DESC, Tool ASC
LIMIT {rows:UInt32}
