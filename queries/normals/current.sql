-- What was known of each tool by one count: the one that was made at `learned` (Unix milliseconds).
SELECT
    ServiceName,
    Tool,
    Changed,
    Void,
    Looked,
    Missed
FROM overclaim_normals FINAL
WHERE Learned = fromUnixTimestamp64Milli({learned:Int64})
ORDER BY ServiceName, Tool
LIMIT 100000
