-- The columns of a table in this database and their types; no rows where there is no such table.
SELECT
    name AS Name,
    type AS Type
FROM system.columns
WHERE database = currentDatabase() AND table = {table:String}
ORDER BY position
