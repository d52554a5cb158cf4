-- The moments (Unix milliseconds) between two arrivals, both included, at which spans arrived, each with a hash of what
-- arrived then: it changes when more rows of that moment become visible.
SELECT
    toUnixTimestamp64Milli(Arrived) AS ArrivedMs,
    sum(cityHash64(TraceId, Spans)) AS Content
FROM overclaim_inbox
WHERE
    Arrived >= fromUnixTimestamp64Milli({since:Int64})
    AND Arrived <= fromUnixTimestamp64Milli({until:Int64})
    AND TraceId != ''
GROUP BY ArrivedMs
ORDER BY ArrivedMs
