-- The traces of a large batch, in the place of a list of them.
SELECT wanted.TraceId
FROM overclaim_batch AS wanted
WHERE wanted.Pass = {version:UInt64} AND wanted.Part = {part:UInt32}
