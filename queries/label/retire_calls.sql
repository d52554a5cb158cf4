-- Takes back the rows of overclaim_calls that the newest pass over these traces did not write again.
-- Later spans may have shown that it is part of another call.
INSERT INTO overclaim_calls (TraceId, SpanId, Started, Version, Deleted)
SELECT
    TraceId,
    SpanId,
    Started,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_calls FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
