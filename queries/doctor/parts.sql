-- Where a part is and what it holds: the rows of a damaged one are those that cannot be read.
-- Parameters: table, part.
SELECT
    "rows" AS Held,
    path AS Path
FROM system.parts
WHERE database = currentDatabase() AND table = {table:String} AND name = {part:String}
