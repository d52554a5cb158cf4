-- Takes back the rows of overclaim_verdicts that the newest pass over these traces did not write again.
-- The claim or the run they were about is no longer there.
INSERT INTO overclaim_verdicts (TraceId, RunSpanId, Claim, Started, Version, Deleted)
SELECT
    TraceId,
    RunSpanId,
    Claim,
    Started,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_verdicts FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
