-- How sure the verdicts on the claims of some runs are.
-- Parameters: traces Array(String), earliest Int64, latest Int64 (the starts of their runs, Unix nanoseconds)
SELECT
    TraceId,
    RunSpanId,
    Claim,
    Confidence
FROM overclaim_verdicts FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Claim >= 0
