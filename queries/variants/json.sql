-- Spans in one form: here from tables of the Collector's exporter with attributes as JSON. A dot in a key became a
-- level there, so levels become dots again, down to sixteen of them; lists stay JSON. For the rest see map.sql.
CREATE OR REPLACE VIEW overclaim_spans
AS
WITH
(pair -> if(
    startsWith(pair.2, '{'),
    arrayMap(inner -> (concat(pair.1, '.', inner.1), inner.2), JSONExtractKeysAndValuesRaw(pair.2)),
    [pair]
)) AS opened,

(attributes -> arrayFold(
    (pairs, level) -> arrayFlatten(arrayMap(pair -> opened(pair), pairs)),
    range(15),
    JSONExtractKeysAndValuesRaw(toJSONString(attributes))
)) AS flat,

(attributes -> CAST(
    arrayMap(
        pair -> (pair.1, if(startsWith(pair.2, '"'), JSONExtractString(pair.2), pair.2)),
        flat(attributes)
    ),
    'Map(String, String)'
)) AS as_map

SELECT
    Timestamp,
    TraceId,
    SpanId,
    ParentSpanId,
    TraceState,
    SpanName,
    initcap(replaceOne(SpanKind, 'SPAN_KIND_', '')) AS SpanKind,
    ServiceName,
    as_map(otel_traces.ResourceAttributes) AS ResourceAttributes,
    ScopeName,
    ScopeVersion,
    as_map(otel_traces.SpanAttributes) AS SpanAttributes,
    toUInt64(greatest(toInt64(Duration), 0)) AS Duration,
    initcap(replaceOne(StatusCode, 'STATUS_CODE_', '')) AS StatusCode,
    StatusMessage,
    Events.Timestamp AS `Events.Timestamp`,
    Events.Name AS `Events.Name`,
    arrayMap(one -> as_map(one), otel_traces.Events.Attributes) AS `Events.Attributes`,
    Links.TraceId AS `Links.TraceId`,
    Links.SpanId AS `Links.SpanId`,
    Links.TraceState AS `Links.TraceState`,
    arrayMap(one -> as_map(one), otel_traces.Links.Attributes) AS `Links.Attributes`,
    TraceFlags,
    DroppedAttributes,
    DroppedEvents,
    DroppedLinks,
    Received
FROM otel_traces
