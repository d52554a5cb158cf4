-- What the log events of some traces hold of messages, one row for each span: the last of each kind. What is longer
-- than 256 KiB is left out. EndsWithAssistant: nobody spoke after the last message of the assistant.
-- Attributes may be a Map or JSON, where dots are levels and lists are lists.
-- first, last: between which times (Unix nanoseconds) those of each trace count. earliest, latest: of all of them.
SELECT
    TraceId,
    SpanId,
    argMaxIf(
        output,
        (Timestamp, cityHash64(output)),
        EventName = 'gen_ai.client.inference.operation.details' AND notEmpty(output)
    ) AS Output,
    argMaxIf(
        input,
        (Timestamp, cityHash64(input)),
        EventName = 'gen_ai.client.inference.operation.details' AND notEmpty(input)
    ) AS Input,
    argMaxIf(content, (Timestamp, cityHash64(content)), EventName = 'gen_ai.choice') AS Choice,
    argMaxIf(content, (Timestamp, cityHash64(content)), EventName = 'gen_ai.assistant.message') AS Assistant,
    argMaxIf(content, (Timestamp, cityHash64(content)), EventName = 'gen_ai.user.message') AS Asked,
    maxIf(Timestamp, EventName = 'gen_ai.assistant.message')
    > maxIf(Timestamp, EventName IN ('gen_ai.user.message', 'gen_ai.tool.message')) AS EndsWithAssistant
FROM (
    WITH
    toJSONString(LogAttributes) AS attributes,

    JSONExtractString(attributes, 'gen_ai.output.messages')
    || JSONExtractString(attributes, 'gen_ai', 'output', 'messages') AS told,

    JSONExtractString(attributes, 'gen_ai.input.messages')
    || JSONExtractString(attributes, 'gen_ai', 'input', 'messages') AS asked,

    JSONExtractString(attributes, 'gen_ai.operation.name')
    || JSONExtractString(attributes, 'gen_ai', 'operation', 'name') AS operation

    SELECT
        TraceId,
        SpanId,
        EventName,
        Timestamp,
        if(length(Body) <= 262144, Body, '') AS content,
        if(length(told) <= 262144, told, '') AS output,
        -- The input of a model is the whole conversation so far, which nobody reads; that of an agent is its task.
        if(operation IN ('invoke_agent', 'invoke_workflow') AND length(asked) <= 262144, asked, '') AS input
    FROM otel_logs
    WHERE
        TraceId IN {traces:Array(String)}
        AND Timestamp >= fromUnixTimestamp64Nano({earliest:Int64})
        AND Timestamp <= fromUnixTimestamp64Nano({latest:Int64})
        AND Timestamp >= fromUnixTimestamp64Nano({first:Array(Int64)}[indexOf({traces:Array(String)}, TraceId)])
        AND Timestamp <= fromUnixTimestamp64Nano({last:Array(Int64)}[indexOf({traces:Array(String)}, TraceId)])
        AND Tells = 'message'
)
GROUP BY TraceId, SpanId
ORDER BY TraceId, SpanId
LIMIT {most:UInt32} BY TraceId
SETTINGS max_bytes_before_external_group_by = 268435456, max_bytes_before_external_sort = 268435456
