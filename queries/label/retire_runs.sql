-- Takes back the rows of overclaim_runs that the newest pass over these traces did not write again.
-- Its outer span may have arrived since, so that it is part of another run.
INSERT INTO overclaim_runs (TraceId, SpanId, Started, Version, Deleted)
SELECT
    TraceId,
    SpanId,
    Started,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_runs FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
