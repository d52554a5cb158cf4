-- Exceptions and errors in the log records of some traces, each kind once a span however often it was logged or
-- delivered, with its last time and message. Of one span no more than {each}, of one trace than {most}: a loop that
-- logs a million errors costs no more than one that logs a few. Attributes may be a Map or JSON, where dots are levels.
-- first, last: between which times (Unix nanoseconds) those of each trace count. earliest, latest: of all of them.
SELECT *
FROM (
    WITH
    toJSONString(LogAttributes) AS attributes,

    substringUTF8(
        JSONExtractString(attributes, 'exception.message') || JSONExtractString(attributes, 'exception', 'message'),
        1,
        4000
    ) AS said

    SELECT
        TraceId,
        SpanId,
        substringUTF8(EventName, 1, 256) AS Name,
        Name = 'gen_ai.execute_tool.exception' AS OfTool,
        SeverityNumber AS Severity,
        substringUTF8(SeverityText, 1, 256) AS Level,
        substringUTF8(ScopeName, 1, 256) AS Logger,
        substringUTF8(
            JSONExtractString(attributes, 'exception.type') || JSONExtractString(attributes, 'exception', 'type'),
            1,
            256
        ) AS Type,
        toUnixTimestamp64Nano(max(Timestamp)) AS Time,
        argMax(said, (Timestamp, cityHash64(said))) AS Message
    FROM otel_logs
    WHERE
        TraceId IN {traces:Array(String)}
        AND Timestamp >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Timestamp <= fromUnixTimestamp64Nano({latest:Int64})
        AND Timestamp >= fromUnixTimestamp64Nano({first:Array(Int64)}[indexOf({traces:Array(String)}, TraceId)])
        AND Timestamp <= fromUnixTimestamp64Nano({last:Array(Int64)}[indexOf({traces:Array(String)}, TraceId)])
        AND Tells = 'trouble'
    GROUP BY TraceId, SpanId, Name, OfTool, Severity, Level, Logger, Type
    ORDER BY OfTool DESC, Name DESC, Type DESC, Severity DESC, Level ASC, Logger ASC
    LIMIT {each:UInt32} BY TraceId, SpanId
)
ORDER BY TraceId ASC, SpanId ASC, OfTool DESC, Name DESC, Type DESC, Severity DESC, Level ASC, Logger ASC
LIMIT {most:UInt32} BY TraceId
SETTINGS max_bytes_before_external_group_by = 268435456, max_bytes_before_external_sort = 268435456
