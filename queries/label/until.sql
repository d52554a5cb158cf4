-- Where the next piece of work ends: the arrival of the {rows}-th inbox row after the watermark, as Unix milliseconds;
-- NULL where nothing has arrived since. Cutting by arrival time keeps rows of the same moment together.
SELECT maxOrNull(toUnixTimestamp64Milli(Arrived)) AS Until
FROM (
    SELECT Arrived
    FROM overclaim_inbox
    WHERE Arrived > fromUnixTimestamp64Milli({after:Int64})
    ORDER BY Arrived
    LIMIT {rows:UInt32}
)
