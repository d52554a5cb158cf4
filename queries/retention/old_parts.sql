-- The parts of a table in which every row arrived before a moment (Unix seconds).
SELECT _part AS Part
FROM {table:Identifier}
GROUP BY Part
HAVING max(Received) < toDateTime({before:UInt32})
ORDER BY max(Received)
