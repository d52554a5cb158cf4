-- The procedures that one run broke, each with the calls that show it.
-- Parameters:
--   trace String: TraceId as report/show_runs gives it
--   run String: RunSpanId as report/show_runs gives it
SELECT
    Rule,
    Procedure,
    Sentence AS Says,
    Severity,
    Calls AS CallSpanIds
FROM overclaim_breaches FINAL
WHERE TraceId = {trace:String} AND RunSpanId = {run:String}
ORDER BY Rule, Procedure
