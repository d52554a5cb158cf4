-- Enters where the spans of some traces lie (Unix nanoseconds) and how many there are, as a pass has read or counted
-- them. The earliest, the latest and the highest number count, so a pass may enter them again.
-- The lists belong together: the first of each is about the first trace.
INSERT INTO overclaim_traces (TraceId, Earliest, Latest, Spans, Seen)
SELECT
    One.1 AS TraceId,
    fromUnixTimestamp64Nano(One.2) AS Earliest,
    fromUnixTimestamp64Nano(One.3) AS Latest,
    One.4 AS Spans,
    now() AS Seen
FROM (
    SELECT arrayJoin(arrayZip(
        {traces:Array(String)}, {firsts:Array(Int64)}, {lasts:Array(Int64)}, {spans:Array(UInt64)}
    )) AS One
)
