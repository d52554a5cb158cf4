-- Parts of our tables that the engine put aside, with why: broken ones hold rows that no query sees.
SELECT
    table AS Table,
    if(reason = '', 'detached by hand', reason) AS Reason,
    count() AS Parts
FROM system.detached_parts
WHERE database = currentDatabase() AND reason NOT IN ('ignored', 'covered-by-broken', 'clone', 'attaching')
GROUP BY Table, Reason
ORDER BY Table, Reason
