-- Failures that nobody noticed: one row per call with an open finding, worst first, then newest.
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: calls that started then or later
--   all UInt8 = 0: 1 for failures that somebody noticed, too
--   rows UInt32 = 1000: how many rows at most
-- A failure is noticed where the agent mended it (a later call), where the agent told its user, and where a claim is
-- accused because of it (report/claims). With all = 1 such failures are here as well, and Noticed says who it was.
WITH
findings AS (
    SELECT
        TraceId,
        CallSpanIds[1] AS CallSpanId,
        min(At) AS Seen,
        arrayFirst(level -> has(groupArray(Severity), level), ['high', 'medium', 'low']) AS Worst,
        arrayStringConcat(arraySort(groupUniqArray(Rule)), ' ') AS Rules
    FROM overclaim_findings FINAL
    WHERE Open AND Claim = -1 AND NOT startsWith(Rule, 'OC4') AND At >= {since:DateTime64(3, 'UTC')}
    GROUP BY TraceId, CallSpanId
),

failures AS (
    SELECT *
    FROM overclaim_failures FINAL
    WHERE Started >= {since:DateTime64(3, 'UTC')}
)

SELECT
    findings.Seen AS At,
    findings.Worst AS Severity,
    findings.Rules AS Rules,
    failures.ServiceName AS Service,
    failures.Agent AS Agent,
    failures.Tool AS Tool,
    failures.Claimed AS ToolSaid,
    failures.Observed AS Observed,
    failures.SpanStatus AS SpanStatus,
    failures.EvidenceRule AS Evidence,
    failures.EvidenceValue AS Value,
    multiIf(
        failures.Mended, 'agent (mended it)',
        failures.Reported, 'agent (told its user)',
        failures.Accused, 'overclaim (see report claims)',
        'nobody'
    ) AS Noticed,
    findings.TraceId AS TraceId,
    failures.EvidenceSpanId AS EvidenceSpanId
FROM findings
INNER JOIN failures ON findings.TraceId = failures.TraceId AND findings.CallSpanId = failures.SpanId
WHERE {all:UInt8} OR NOT (failures.Mended OR failures.Reported OR failures.Accused)
ORDER BY indexOf(['high', 'medium', 'low'], Severity) ASC, At DESC, TraceId ASC, EvidenceSpanId ASC
LIMIT {rows:UInt32}
