-- Takes back the rows of overclaim_operations that the newest pass over these traces did not write again.
-- Later spans may have shown that a call was part of another run, or did another thing.
INSERT INTO overclaim_operations (TraceId, RunSpanId, Operation, Started, Version, Deleted)
SELECT
    TraceId,
    RunSpanId,
    Operation,
    Started,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_operations FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
