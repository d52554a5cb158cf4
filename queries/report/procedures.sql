-- Procedures that runs broke: one row per run and procedure, worst first, then newest.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: runs that started then or later
--   rows UInt32 = 1000: how many rows at most
SELECT
    Started AS At,
    Severity,
    Rule,
    Agent,
    Procedure,
    Sentence AS Says,
    Tool,
    length(Calls) AS CallsShown,
    ServiceName AS Service,
    TraceId,
    if(empty(Calls), RunSpanId, Calls[1]) AS EvidenceSpanId
FROM overclaim_breaches FINAL
WHERE Started >= {since:DateTime64(3, 'UTC')}
ORDER BY indexOf(['high', 'medium', 'low'], Severity) ASC, At DESC, TraceId ASC, Procedure ASC, Rule ASC
LIMIT {rows:UInt32}
