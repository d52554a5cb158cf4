-- Takes back the rows of overclaim_claims that the newest pass over these traces did not write again.
-- The claim may have moved, or its message may have been completed.
INSERT INTO overclaim_claims (TraceId, RunSpanId, Position, Started, Version, Deleted)
SELECT
    TraceId,
    RunSpanId,
    Position,
    Started,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_claims FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
