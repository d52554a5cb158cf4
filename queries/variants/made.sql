-- Which tables and views with these names are there, with their engines and comments.
SELECT
    name AS Name,
    engine AS Engine,
    comment AS Comment
FROM system.tables
WHERE database = currentDatabase() AND name IN {names:Array(String)}
ORDER BY Name
