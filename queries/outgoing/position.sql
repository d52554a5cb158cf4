-- Up to which pass, by its number, a receiver has got everything; no row for one that is new.
-- Parameters: sink String (the receiver)
SELECT FindingVersion AS Position
FROM overclaim_deliveries FINAL
WHERE Sink = {sink:String} AND FindingId = ''
