-- What agents claimed, beside what was observed: one row per open accusation, newest first.
-- Parameters: since (UTC time, such as '2026-01-01 00:00:00'), rows (how many at most).
-- Observed is the outcome of the call that shows it best; it is empty where the accusation is that there was no call.
-- To see for yourself, open the trace and look at EvidenceSpanId.
WITH
findings AS (
    SELECT
        *,
        CallSpanIds[1] AS CallSpanId
    FROM overclaim_findings FINAL
    WHERE Open AND Claim >= 0 AND At >= {since:DateTime64(3, 'UTC')}
),

claims AS (
    SELECT
        TraceId,
        RunSpanId,
        toInt32(Position) AS Claim,
        Outcome,
        Action,
        Text
    FROM overclaim_claims FINAL
    WHERE Started >= {since:DateTime64(3, 'UTC')} - INTERVAL 1 DAY
),

calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Observed
    FROM overclaim_calls FINAL
    WHERE Started >= {since:DateTime64(3, 'UTC')} - INTERVAL 1 DAY
)

SELECT
    findings.At AS At,
    findings.Rule AS Rule,
    findings.Severity AS Severity,
    findings.ServiceName AS Service,
    findings.Agent AS Agent,
    findings.Tool AS Tool,
    claims.Outcome AS Claimed,
    claims.Action AS Action,
    calls.Observed AS Observed,
    findings.EvidenceRule AS Evidence,
    findings.EvidenceValue AS Value,
    claims.Text AS Words,
    findings.TraceId AS TraceId,
    findings.EvidenceSpanId AS EvidenceSpanId
FROM findings
LEFT JOIN claims
    ON
        findings.TraceId = claims.TraceId
        AND findings.RunSpanId = claims.RunSpanId
        AND findings.Claim = claims.Claim
LEFT JOIN calls
    ON
        findings.TraceId = calls.TraceId
        AND findings.RunSpanId = calls.RunSpanId
        AND findings.CallSpanId = calls.SpanId
ORDER BY At DESC, TraceId ASC, Rule ASC
LIMIT {rows:UInt32}
