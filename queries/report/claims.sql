-- What agents claimed, beside what was observed: newest first, one row for all claims of a run that one rule accuses on
-- the same ground (the same call and fact; or, where no call could have done it, all claims without one).
-- Parameters:
--   since DateTime64(3, 'UTC') = now() - INTERVAL 7 DAY: runs that started then or later
--   rows UInt32 = 1000: how many rows at most
-- Observed is the outcome of the call that shows it best; it is empty where the accusation is that there was no call.
-- Claims says how many claims a row stands for, Action what they name. Words are theirs, where spans carried content.
-- To see for yourself, open the trace and look at EvidenceSpanId.
WITH
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

accused AS (
    SELECT
        findings.TraceId AS TraceId,
        findings.RunSpanId AS RunSpanId,
        findings.Rule AS Rule,
        findings.CallSpanIds[1] AS CallSpanId,
        findings.EvidenceRule AS EvidenceRule,
        findings.EvidenceValue AS EvidenceValue,
        findings.EvidenceSpanId AS EvidenceSpanId,
        findings.ServiceName AS ServiceName,
        findings.Agent AS Agent,
        findings.Tool AS Tool,
        min(findings.At) AS At,
        arrayFirst(level -> has(groupArray(findings.Severity), level), ['high', 'medium', 'low']) AS Worst,
        count() AS Claims,
        arraySort(claim -> claim.1, groupArray((findings.Claim, claims.Outcome, claims.Action, claims.Text))) AS Said,
        arrayDistinct(arrayMap(claim -> claim.2, Said)) AS Outcomes,
        arrayDistinct(arrayFilter(word -> word != '', arrayMap(claim -> claim.3, Said))) AS Actions,
        arrayDistinct(arrayFilter(text -> text != '', arrayMap(claim -> claim.4, Said))) AS Texts
    FROM overclaim_findings AS findings FINAL
    LEFT JOIN claims
        ON
            findings.TraceId = claims.TraceId
            AND findings.RunSpanId = claims.RunSpanId
            AND findings.Claim = claims.Claim
    WHERE findings.Open AND findings.Claim >= 0 AND findings.At >= {since:DateTime64(3, 'UTC')}
    GROUP BY
        TraceId,
        RunSpanId,
        Rule,
        CallSpanId,
        EvidenceRule,
        EvidenceValue,
        EvidenceSpanId,
        ServiceName,
        Agent,
        Tool
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
    accused.At AS At,
    accused.Rule AS Rule,
    accused.Worst AS Severity,
    accused.ServiceName AS Service,
    accused.Agent AS Agent,
    accused.Tool AS Tool,
    accused.Claims AS Claims,
    arrayStringConcat(accused.Outcomes, ', ') AS Claimed,
    arrayStringConcat(accused.Actions, ', ') AS Action,
    calls.Observed AS Observed,
    accused.EvidenceRule AS Evidence,
    accused.EvidenceValue AS Value,
    arrayStringConcat(accused.Texts, ' / ') AS Words,
    accused.TraceId AS TraceId,
    accused.EvidenceSpanId AS EvidenceSpanId
FROM accused
LEFT JOIN calls
    ON
        accused.TraceId = calls.TraceId
        AND accused.RunSpanId = calls.RunSpanId
        AND accused.CallSpanId = calls.SpanId
ORDER BY At DESC, TraceId ASC, Rule ASC, EvidenceSpanId ASC
LIMIT {rows:UInt32}
