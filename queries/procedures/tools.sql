-- The tools that were called in some traces.
-- earliest, latest: Unix nanoseconds between which all spans of the traces start.
SELECT DISTINCT toString(Tool) AS Tool
FROM overclaim_calls FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
