-- Whether the store has a table: its name, or no row.
-- Parameters: table.
SELECT name AS Name
FROM system.tables
WHERE database = currentDatabase() AND name = {table:String}
