-- How many traces of a large batch are in the table for them.
SELECT count() AS Traces
FROM overclaim_batch
WHERE Pass = {version:UInt64} AND Part = {part:UInt32}
