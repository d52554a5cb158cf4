-- Takes what stands by now for known to a new receiver: it is sent what comes, not what was.
-- Parameters: sink String (the receiver)
INSERT INTO overclaim_deliveries (Sink, FindingId, Mark, Open, Fate, FindingVersion, At)
SELECT
    {sink:String} AS Receiver,
    FindingId,
    Mark,
    Open,
    'before' AS Past,
    Version,
    now64(3) AS Now
FROM overclaim_outgoing
UNION ALL
SELECT
    {sink:String} AS Receiver,
    '' AS FindingId,
    0 AS Mark,
    0 AS Open,
    'before' AS Past,
    toUInt64(toUnixTimestamp64Milli(now64(3))) AS Version,
    now64(3) AS Now
