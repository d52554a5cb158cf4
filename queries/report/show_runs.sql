-- The runs that an id stands for, oldest first, each with its verdict (empty where it was not judged yet).
-- Parameters:
--   id String: a trace, the span of a run, or the id that the user gave a run
--   rows UInt32 = 50: how many rows at most
WITH
runs AS (
    SELECT *
    FROM overclaim_runs FINAL
    WHERE TraceId = lower({id:String}) OR SpanId = lower({id:String}) OR RunId = {id:String}
)

SELECT
    verdicts.Label AS Verdict,
    verdicts.Rule AS Rule,
    round(toFloat64(verdicts.Confidence), 3) AS Confidence,
    runs.Agent AS Agent,
    runs.ServiceName AS Service,
    runs.Model AS Model,
    runs.Claimed AS Claimed,
    runs.Calls AS Calls,
    runs.FailedCalls AS FailedCalls,
    runs.Captured AS Captured,
    runs.Complete AS Complete,
    runs.Gaps AS Gaps,
    runs.Started AS Started,
    runs.Ended AS Ended,
    runs.TraceId AS TraceId,
    runs.SpanId AS RunSpanId,
    runs.RunId AS RunId
FROM runs
LEFT JOIN overclaim_run_verdicts AS verdicts ON runs.TraceId = verdicts.TraceId AND runs.SpanId = verdicts.RunSpanId
ORDER BY Started ASC, TraceId ASC, RunSpanId ASC
LIMIT {rows:UInt32}
