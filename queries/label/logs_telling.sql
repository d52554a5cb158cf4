-- What log records of some traces tell of: troubles, messages.
-- first, last: between which times (Unix nanoseconds) those of each trace count. earliest, latest: of all of them.
SELECT DISTINCT
    TraceId,
    Tells
FROM otel_logs
WHERE
    TraceId IN {traces:Array(String)}
    AND Timestamp >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Timestamp <= fromUnixTimestamp64Nano({latest:Int64})
    AND Timestamp >= fromUnixTimestamp64Nano({first:Array(Int64)}[indexOf({traces:Array(String)}, TraceId)])
    AND Timestamp <= fromUnixTimestamp64Nano({last:Array(Int64)}[indexOf({traces:Array(String)}, TraceId)])
    AND Tells != 'nothing'
ORDER BY TraceId, Tells
