-- The procedures that one run broke, each with the calls that show it.
-- Parameters: trace and run (the TraceId and RunSpanId that report/show_runs gives).
SELECT
    Rule,
    Procedure,
    Sentence AS Says,
    Severity,
    Calls AS CallSpanIds
FROM overclaim_breaches FINAL
WHERE TraceId = {trace:String} AND RunSpanId = {run:String}
ORDER BY Rule, Procedure
