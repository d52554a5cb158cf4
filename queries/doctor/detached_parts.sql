-- Each part that the engine put aside, as detached.sql counts them: its table, its name, why, and where its files are
-- now. "broken-on-start": a file was too short or missing when the store was opened. "broken": found later.
SELECT
    table AS Table,
    if(reason = '', name, substring(name, length(reason) + 2)) AS Part,
    if(reason = '', 'detached by hand', reason) AS Reason,
    path AS Path,
    bytes_on_disk AS Bytes
FROM system.detached_parts
WHERE database = currentDatabase() AND reason NOT IN ('ignored', 'covered-by-broken', 'clone', 'attaching')
ORDER BY Table, Part
