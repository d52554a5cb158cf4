-- Parts of our tables that a query failed on, since their files are damaged: the last one of each kind of damage. The
-- engine keeps count of errors from its start; a part that is no longer here, or is another store's, is left out.
SELECT
    parts.table AS Table,
    parts.name AS Part,
    parts."rows" AS Held,
    errors.name AS Error,
    errors.value AS Times,
    errors.last_error_time AS LastAt,
    parts.path AS Path
FROM system.errors AS errors
CROSS JOIN system.parts AS parts
WHERE
    errors.name IN (
        'CHECKSUM_DOESNT_MATCH', 'CORRUPTED_DATA', 'CANNOT_READ_ALL_DATA', 'CANNOT_DECOMPRESS', 'UNKNOWN_CODEC',
        'TOO_LARGE_SIZE_COMPRESSED'
    )
    AND errors.value > 0
    AND parts.database = currentDatabase()
    AND parts.active
    AND position(errors.last_error_message, parts.path) > 0
ORDER BY Table, Part, Error
