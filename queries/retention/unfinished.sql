-- Deletions of a table that are not done, with why, where they fail.
SELECT
    mutation_id AS Id,
    latest_fail_reason AS Reason
FROM system.mutations
WHERE
    database = currentDatabase()
    AND table = {table:String}
    AND NOT is_done
    AND startsWith(command, '(DELETE WHERE Received')
