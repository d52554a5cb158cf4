-- All spans of some traces, each once however often it was delivered. Times are Unix nanoseconds.
-- They are read in the one form of queries/variants, whoever made otel_traces.
-- Where copies differ, the one that ends last is taken, then the fullest, then by hash: never the one that came first.
SELECT
    TraceId,
    SpanId,
    ParentSpanId,
    SpanName,
    SpanKind,
    ServiceName,
    ScopeName,
    toUnixTimestamp64Nano(Timestamp) AS Start,
    Duration,
    StatusCode,
    StatusMessage,
    SpanAttributes,
    ResourceAttributes,
    arrayMap(t -> toUnixTimestamp64Nano(t), Events.Timestamp) AS EventTimes,
    Events.Name AS EventNames,
    Events.Attributes AS EventAttributes,
    Links.TraceId AS LinkTraceIds,
    Links.SpanId AS LinkSpanIds,
    Links.Attributes AS LinkAttributes,
    toUInt64(DroppedAttributes) + DroppedEvents + DroppedLinks AS Dropped
FROM overclaim_spans
WHERE
    TraceId IN {traces:Array(String)}
    AND Timestamp >= fromUnixTimestamp64Nano({earliest:Int64})
    AND Timestamp <= fromUnixTimestamp64Nano({latest:Int64})
ORDER BY
    TraceId ASC,
    SpanId ASC,
    Start + Duration DESC,
    length(SpanAttributes) + length(Events.Name) DESC,
    cityHash64(toString(mapSort(SpanAttributes)), StatusCode, StatusMessage, ParentSpanId, SpanName) ASC
LIMIT 1 BY TraceId, SpanId
