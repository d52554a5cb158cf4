-- What the spans, log records and refused items of this store take on the disk, per table, and whether its parts are
-- kept small.
SELECT
    tables.name AS Name,
    sum(parts.bytes_on_disk) AS Bytes,
    sum(parts.`rows`) AS Held,
    any(position(tables.engine_full, 'max_bytes_to_merge_at_max_space_in_pool = 2147483648') > 0) AS Small
FROM system.tables AS tables
LEFT JOIN system.parts AS parts
    ON tables.database = parts.database AND tables.name = parts.table AND parts.active
WHERE
    tables.database = currentDatabase()
    AND tables.name IN ('otel_traces', 'otel_logs', 'overclaim_quarantine')
    AND endsWith(tables.engine, 'MergeTree')
GROUP BY Name
ORDER BY Name
