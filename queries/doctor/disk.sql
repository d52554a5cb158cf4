-- The disk of the store: bytes that are free, bytes in all, and bytes that our tables take, the largest table first.
SELECT
    min(disks.free_space) AS Free,
    min(disks.total_space) AS Total,
    (
        SELECT sum(bytes_on_disk)
        FROM system.parts
        WHERE database = currentDatabase() AND active
    ) AS Taken,
    (
        SELECT argMax(Name, Size)
        FROM (
            SELECT
                table AS Name,
                sum(bytes_on_disk) AS Size
            FROM system.parts
            WHERE database = currentDatabase() AND active
            GROUP BY table
        )
    ) AS Largest
FROM system.disks AS disks
