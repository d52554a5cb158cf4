-- The runs of some traces with their verdicts, in the order in which they started.
-- call_span_ids: the calls that show the verdict, on all claims that got the verdict of their run.
-- claimed_action: action of the first of these claims.
-- red: spans of the trace with status Error, which is all that a check on span status can see.
-- Parameters:
--   traces Array(String): which traces
WITH
runs AS (
    SELECT *
    FROM overclaim_runs FINAL
    WHERE TraceId IN {traces:Array(String)}
),

verdicts AS (
    SELECT *
    FROM overclaim_verdicts FINAL
    WHERE TraceId IN {traces:Array(String)}
),

claims AS (
    SELECT *
    FROM overclaim_claims FINAL
    WHERE TraceId IN {traces:Array(String)}
),

leading AS (
    SELECT
        verdicts.TraceId AS TraceId,
        verdicts.RunSpanId AS RunSpanId,
        verdicts.Label AS Label,
        argMin(claims.Action, claims.Position) AS Action,
        groupUniqArrayArray(verdicts.Calls) AS Calls
    FROM verdicts
    INNER JOIN claims
        ON
            verdicts.TraceId = claims.TraceId
            AND verdicts.RunSpanId = claims.RunSpanId
            AND verdicts.Claim = toInt32(claims.Position)
    GROUP BY
        TraceId,
        RunSpanId,
        Label
),

colours AS (
    SELECT
        TraceId,
        uniqExactIf(SpanId, StatusCode = 'Error') AS red
    FROM overclaim_spans
    WHERE TraceId IN {traces:Array(String)}
    GROUP BY TraceId
)

SELECT
    runs.TraceId AS trace_id,
    runs.Agent AS agent,
    runs.Claimed AS claimed,
    verdicts.Label AS verdict,
    verdicts.Rule AS rule,
    leading.Calls AS call_span_ids,
    leading.Action AS claimed_action,
    colours.red AS red
FROM runs
INNER JOIN verdicts ON runs.TraceId = verdicts.TraceId AND runs.SpanId = verdicts.RunSpanId
INNER JOIN colours ON runs.TraceId = colours.TraceId
LEFT JOIN leading
    ON
        verdicts.TraceId = leading.TraceId
        AND verdicts.RunSpanId = leading.RunSpanId
        AND verdicts.Label = leading.Label
WHERE verdicts.Claim = -1
ORDER BY runs.Started, trace_id
