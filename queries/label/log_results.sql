-- What tools returned, from the log events of some traces that hand it to the model: the first for each call, for each
-- turn of the model repeats it; without an id of a call the first on each span. What is longer than 256 KiB is left
-- out. Attributes may be a Map or JSON, where dots are levels.
-- first, last: between which times (Unix nanoseconds) those of each trace count. earliest, latest: of all of them.
WITH
told AS (
    SELECT
        TraceId,
        SpanId,
        Timestamp,
        EventName,
        Body,
        toJSONString(LogAttributes) AS attributes
    FROM otel_logs
    WHERE
        TraceId IN {traces:Array(String)}
        AND Timestamp >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Timestamp <= fromUnixTimestamp64Nano({latest:Int64})
        AND Timestamp >= fromUnixTimestamp64Nano({first:Array(Int64)}[indexOf({traces:Array(String)}, TraceId)])
        AND Timestamp <= fromUnixTimestamp64Nano({last:Array(Int64)}[indexOf({traces:Array(String)}, TraceId)])
        AND Tells = 'message'
),

either AS (
    SELECT
        TraceId,
        SpanId,
        Timestamp,
        Body AS Result,
        if(
            notEmpty(JSONExtractString(Body, 'id')),
            JSONExtractString(Body, 'id'),
            JSONExtractString(attributes, 'gen_ai.tool.call.id')
            || JSONExtractString(attributes, 'gen_ai', 'tool', 'call', 'id')
        ) AS CallId
    FROM told
    WHERE EventName = 'gen_ai.tool.message'

    UNION ALL

    SELECT
        TraceId,
        SpanId,
        Timestamp,
        Result,
        JSONExtractString(Result, 'id') AS CallId
    FROM (
        SELECT
            TraceId,
            SpanId,
            Timestamp,
            arrayJoin(arrayFlatten(arrayMap(
                message -> JSONExtractArrayRaw(message, 'parts'),
                JSONExtractArrayRaw(
                    JSONExtractString(attributes, 'gen_ai.input.messages')
                    || JSONExtractString(attributes, 'gen_ai', 'input', 'messages')
                )
            ))) AS Result
        FROM told
        WHERE EventName = 'gen_ai.client.inference.operation.details'
    )
    WHERE JSONExtractString(Result, 'type') = 'tool_call_response' AND notEmpty(JSONExtractString(Result, 'id'))
)

SELECT
    TraceId,
    CallId,
    argMin(either.SpanId, (either.Timestamp, cityHash64(either.SpanId, either.Result))) AS FirstSpanId,
    argMin(either.Result, (either.Timestamp, cityHash64(either.SpanId, either.Result))) AS Result
FROM either
WHERE length(either.Result) <= 262144 AND length(CallId) <= 512
GROUP BY TraceId, CallId, if(CallId = '', SpanId, '')
ORDER BY TraceId, CallId, FirstSpanId
LIMIT {most:UInt32} BY TraceId
SETTINGS max_bytes_before_external_group_by = 268435456, max_bytes_before_external_sort = 268435456
