-- What is normal for each tool, as it was learned last.
-- now: Unix milliseconds; what is older than 30 days is forgotten.
SELECT
    ServiceName,
    Tool,
    Changed,
    Void,
    Looked,
    Missed
FROM overclaim_normals FINAL
WHERE Learned >= fromUnixTimestamp64Milli({now:Int64}) - INTERVAL 30 DAY
ORDER BY ServiceName, Tool
LIMIT 100000
