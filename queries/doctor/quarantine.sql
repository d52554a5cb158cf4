-- What came in the last seven days and could not be kept, by why: how many items (spans, log records), and the last.
SELECT
    Signal,
    Reason,
    sum(Items) AS Refused,
    max(Received) AS LastAt
FROM overclaim_quarantine
WHERE Received >= now() - INTERVAL 7 DAY
GROUP BY Signal, Reason
ORDER BY Refused DESC, Signal ASC, Reason ASC
LIMIT 100
