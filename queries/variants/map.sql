-- Spans in one form, whoever made otel_traces: here our own table, and the Collector's with attributes as Map.
-- Old releases of the Collector's exporter write SPAN_KIND_INTERNAL and STATUS_CODE_ERROR, and the scope as attributes.
-- Where a span ends before it starts, some write 2 to the power of 64 less so many nanoseconds as its duration: here 0.
CREATE OR REPLACE VIEW overclaim_spans
AS
SELECT
    Timestamp,
    TraceId,
    SpanId,
    ParentSpanId,
    TraceState,
    SpanName,
    initcap(replaceOne(SpanKind, 'SPAN_KIND_', '')) AS SpanKind,
    ServiceName,
    ResourceAttributes,
    if(ScopeName = '', SpanAttributes['otel.scope.name'], ScopeName) AS ScopeName,
    if(ScopeVersion = '', SpanAttributes['otel.scope.version'], ScopeVersion) AS ScopeVersion,
    SpanAttributes,
    toUInt64(greatest(toInt64(Duration), 0)) AS Duration,
    initcap(replaceOne(StatusCode, 'STATUS_CODE_', '')) AS StatusCode,
    StatusMessage,
    Events.Timestamp AS `Events.Timestamp`,
    Events.Name AS `Events.Name`,
    Events.Attributes AS `Events.Attributes`,
    Links.TraceId AS `Links.TraceId`,
    Links.SpanId AS `Links.SpanId`,
    Links.TraceState AS `Links.TraceState`,
    Links.Attributes AS `Links.Attributes`,
    TraceFlags,
    DroppedAttributes,
    DroppedEvents,
    DroppedLinks,
    Received
FROM otel_traces
