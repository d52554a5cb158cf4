-- Calls of some traces that failed, or wrote nothing, and that no later call mended and nobody mentioned: those that
-- some rules ({rules}) report. Each is reported by one rule, the first of these that it fits:
--   OC202  a write of nothing before a claim of success
--   OC203  a failure below a tool that returned as if all went well
--   OC204  a part of what was asked for failed, before a claim of success
--   OC207  one operation failed three times or more, and never succeeded after that: one finding for all of them
--   OC208  no answer came in time, so nobody knows how far it got
--   OC201  any other
-- OC207 is of high severity only where its last evidence is structured. OC201 is one lower where the span is marked as
-- an error: those who count error spans see it.
WITH
failures AS (
    SELECT
        *,
        multiIf(
            Observed = 'empty', if(RunClaimed = 'success', 'OC202', 'OC201'),
            Claimed = 'success' AND EvidenceSpanId != SpanId, 'OC203',
            RunClaimed = 'success' AND EvidenceRule IN (
                'batch.item_failed', 'count.failed', 'count.shortfall', 'text.shortfall', 'text.partial',
                'status_word.partial', 'record.status_word_partial'
            ), 'OC204',
            ''
        ) AS Kind,
        EvidenceRule IN (
            'exception.timeout', 'exit.timeout', 'wait.timeout', 'http.no_response', 'text.timed_out_killed'
        )
        OR (startsWith(EvidenceRule, 'http.') AND EvidenceValue IN ('408', '504')) AS NoAnswer
    FROM overclaim_failures FINAL
    WHERE
        TraceId IN {traces:Array(String)}
        AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND NOT (Mended OR Reported OR Accused)
),

-- Operations that were tried three times or more. What failed before a success is mended, and so not among them.
exhausted AS (
    SELECT
        operations.TraceId AS TraceId,
        arrayFilter(span -> has(unmended.Spans, span), operations.Calls) AS Tries,
        operations.Grade = 'structured' AS Sure
    FROM overclaim_operations AS operations FINAL
    INNER JOIN (
        SELECT
            failures.TraceId AS TraceId,
            failures.RunSpanId AS RunSpanId,
            groupArray(failures.SpanId) AS Spans
        FROM failures
        WHERE failures.Kind = ''
        GROUP BY TraceId, RunSpanId
        HAVING count() >= 3
    ) AS unmended ON operations.TraceId = unmended.TraceId AND operations.RunSpanId = unmended.RunSpanId
    WHERE
        operations.TraceId IN {traces:Array(String)}
        AND operations.Started >= fromUnixTimestamp64Nano({earliest:Int64})
        AND operations.Started <= fromUnixTimestamp64Nano({latest:Int64})
        AND operations.Operation != ''
        AND operations.FailedAttempts >= 3
        AND length(Tries) >= 3
),

tried AS (
    SELECT
        TraceId,
        Tries,
        Sure,
        arrayJoin(Tries) AS SpanId
    FROM exhausted
),

ruled AS (
    SELECT
        failures.*,
        tried.Tries AS Tries,
        tried.Sure AS SureTries,
        multiIf(
            failures.Kind != '', failures.Kind,
            notEmpty(tried.Tries), 'OC207',
            failures.NoAnswer, 'OC208',
            'OC201'
        ) AS Rule
    FROM failures
    LEFT JOIN tried ON failures.TraceId = tried.TraceId AND failures.SpanId = tried.SpanId
)

SELECT
    Rule,
    TraceId,
    RunSpanId,
    toInt32(-1) AS Claim,
    '' AS ClaimSpanId,
    -- The first three tries, so that one more does not make it another finding; the last one is the evidence.
    if(Rule = 'OC207', arraySlice(Tries, 1, 3), [SpanId]) AS CallSpanIds,
    EvidenceRule,
    EvidenceValue,
    EvidenceSpanId,
    ServiceName,
    Environment,
    Agent,
    AgentVersion,
    Model,
    Tool,
    toUnixTimestamp64Nano(Started) AS At,
    multiIf(
        Rule = 'OC204', 'medium',
        Rule = 'OC207', if(SureTries AND Effect = 'write' AND RunClaimed = 'success', 'high', 'medium'),
        Rule = 'OC208', if(Effect = 'write' OR SpanStatus != 'Error', 'medium', 'low'),
        Rule = 'OC201' AND SpanStatus = 'Error', if(Effect = 'write', 'medium', 'low'),
        if(Effect = 'write', 'high', 'medium')
    ) AS Severity,
    if(Rule = 'OC207', concat(toString(length(Tries)), ' times'), '') AS Detail
FROM ruled
WHERE Rule IN {rules:Array(String)} AND (Rule != 'OC207' OR SpanId = Tries[-1])
