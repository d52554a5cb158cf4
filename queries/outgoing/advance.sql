-- Notes up to which pass a receiver has got everything.
-- Parameters: sink String (the receiver), position UInt64 (number of a pass)
INSERT INTO overclaim_deliveries (Sink, FindingId, Mark, Open, Fate, FindingVersion, At)
SELECT
    {sink:String} AS Receiver,
    '' AS FindingId,
    0 AS Mark,
    0 AS Open,
    'sent' AS Past,
    {position:UInt64} AS Position,
    now64(3) AS Now
