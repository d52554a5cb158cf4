-- The tool calls of some traces with their evidence, one row per fact (one empty fact where a call has none), and the
-- HTTP request of the span that shows the fact.
-- Parameters:
--   traces Array(String): which traces
WITH
calls AS (
    SELECT *
    FROM overclaim_calls FINAL
    WHERE TraceId IN {traces:Array(String)}
),

facts AS (
    SELECT
        *,
        arrayJoin(
            emptyArrayToSingle(
                arrayZip(EvidenceRule, EvidenceValue, EvidenceOutcome, EvidenceSpanId, arrayEnumerate(EvidenceRule))
            )
        ) AS fact
    FROM calls
),

requests AS (
    SELECT DISTINCT
        TraceId,
        SpanId,
        SpanAttributes['http.request.method'] || SpanAttributes['http.method'] AS method,
        path(SpanAttributes['url.full'] || SpanAttributes['http.url']) AS path
    FROM overclaim_spans
    WHERE TraceId IN {traces:Array(String)} AND SpanKind = 'Client'
)

SELECT
    facts.TraceId AS trace_id,
    facts.SpanId AS span_id,
    facts.Position AS position,
    facts.Tool AS tool,
    facts.Operation AS operation,
    facts.Claimed AS claimed,
    facts.Observed AS observed,
    tupleElement(facts.fact, 1) AS rule,
    tupleElement(facts.fact, 2) AS value,
    tupleElement(facts.fact, 3) AS outcome,
    requests.method AS method,
    requests.path AS path
FROM facts
LEFT JOIN requests ON facts.TraceId = requests.TraceId AND tupleElement(facts.fact, 4) = requests.SpanId
ORDER BY trace_id, position, tupleElement(facts.fact, 5)
