-- Claims of some traces with a verdict that accuses, and the fact that shows it: those that {rules} report.
-- Severity goes by effect: high where the call writes. Where there is no call it goes by the deed, lower for one that
-- only looks (looks: those actions). What is pending may yet come true, so it is lower, too.
WITH
verdicts AS (
    SELECT
        *,
        Calls[1] AS First,
        transform(
            toString(Label), ['contradicted', 'unsupported', 'pending'], ['OC101', 'OC102', 'OC103'], ''
        ) AS Accusation
    FROM overclaim_verdicts FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND Claim >= 0
        AND Accusation IN {rules:Array(String)}
),

claims AS (
    SELECT
        TraceId,
        RunSpanId,
        toInt32(Position) AS Claim,
        SpanId,
        Action,
        MismatchRule,
        MismatchValue,
        MismatchSpanId
    FROM overclaim_claims FINAL
    WHERE
        TraceId IN (SELECT verdicts.TraceId FROM verdicts)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

-- The fact of each call that decided against success: facts are kept with what decided first.
calls AS (
    SELECT
        TraceId,
        RunSpanId,
        SpanId,
        Tool,
        Effect,
        arrayFirst(
            fact -> fact.1 != 'success',
            arrayZip(EvidenceOutcome, EvidenceRule, EvidenceValue, EvidenceSpanId)
        ) AS Fact
    FROM overclaim_calls FINAL
    WHERE
        TraceId IN (SELECT verdicts.TraceId FROM verdicts)
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
),

effects AS (
    SELECT
        TraceId,
        RunSpanId,
        groupArrayIf(SpanId, Effect = 'write') AS Writes
    FROM calls
    GROUP BY TraceId, RunSpanId
)

SELECT
    verdicts.Accusation AS Rule,
    verdicts.TraceId AS TraceId,
    verdicts.RunSpanId AS RunSpanId,
    verdicts.Claim AS Claim,
    claims.SpanId AS ClaimSpanId,
    verdicts.Calls AS CallSpanIds,
    multiIf(
        claims.MismatchRule != '', claims.MismatchRule,
        calls.Fact.2 != '', calls.Fact.2,
        verdicts.Rule
    ) AS EvidenceRule,
    if(claims.MismatchRule != '', claims.MismatchValue, calls.Fact.3) AS EvidenceValue,
    multiIf(
        claims.MismatchSpanId != '', claims.MismatchSpanId,
        calls.Fact.4 != '', calls.Fact.4,
        verdicts.First != '', verdicts.First,
        verdicts.RunSpanId
    ) AS EvidenceSpanId,
    verdicts.ServiceName AS ServiceName,
    verdicts.Environment AS Environment,
    verdicts.Agent AS Agent,
    verdicts.AgentVersion AS AgentVersion,
    verdicts.Model AS Model,
    calls.Tool AS Tool,
    toUnixTimestamp64Nano(verdicts.Started) AS At,
    multiIf(
        verdicts.Label = 'pending', 'medium',
        notEmpty(verdicts.Calls), if(hasAny(verdicts.Calls, effects.Writes), 'high', 'medium'),
        has({looks:Array(String)}, claims.Action), 'medium',
        'high'
    ) AS Severity
FROM verdicts
INNER JOIN claims
    ON
        verdicts.TraceId = claims.TraceId
        AND verdicts.RunSpanId = claims.RunSpanId
        AND verdicts.Claim = claims.Claim
LEFT JOIN calls
    ON
        verdicts.TraceId = calls.TraceId
        AND verdicts.RunSpanId = calls.RunSpanId
        AND verdicts.First = calls.SpanId
LEFT JOIN effects ON verdicts.TraceId = effects.TraceId AND verdicts.RunSpanId = effects.RunSpanId
