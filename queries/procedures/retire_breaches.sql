-- Takes back the rows of overclaim_breaches that the newest pass over these traces did not write again.
-- Later spans kept the procedure after all, or it is no longer declared.
INSERT INTO overclaim_breaches (TraceId, RunSpanId, Procedure, Rule, Started, Version, Deleted)
SELECT
    TraceId,
    RunSpanId,
    Procedure,
    Rule,
    Started,
    {version:UInt64} AS NewVersion,
    1 AS IsDeleted
FROM overclaim_breaches FINAL
WHERE
    TraceId IN {traces:Array(String)}
    AND Started >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Started <= fromUnixTimestamp64Nano({latest:Int64})
    AND Version < {version:UInt64}
