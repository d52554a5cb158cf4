-- The way of OTLP trace data that the engine reads itself: blocks in the format of ingest/otlp_traces.proto go into a
-- table that keeps nothing, and its view makes rows of otel_traces of them, the very rows that the collector's own code
-- makes (otlp/spans.py). Analysing the view costs as much as its work on thousands of spans, and what it costs grows
-- with the types that it handles: hence a column for each field of spans rather than one of nested tuples.
-- The column `value` of an attribute is the number of its field that is set: 1 string, 2 bool, 3 int, 4 double, 5 list,
-- 6 map, 7 bytes, 0 none.
CREATE TABLE IF NOT EXISTS overclaim_otlp_traces
(
    schema_url String COMMENT 'of the resource',
    resource_dropped_attributes_count UInt32,
    resource_attributes Array(Tuple(
        key String,
        value Tuple(
            value UInt8, string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
            array_value Tuple(values Array(Tuple(
                value UInt8, string_value String, bool_value Bool, int_value Int64, double_value Float64,
                bytes_value String
            )))
        )
    )),
    scope_spans_schema_url String,
    scope_spans_scope_name String,
    scope_spans_scope_version String,
    scope_spans_scope_dropped_attributes_count UInt32,
    scope_spans_scope_attributes Array(Tuple(
        key String,
        value Tuple(
            value UInt8, string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String
        )
    )),
    scope_spans_spans_trace_id Array(String),
    scope_spans_spans_span_id Array(String),
    scope_spans_spans_parent_span_id Array(String),
    scope_spans_spans_trace_state Array(String),
    scope_spans_spans_name Array(String),
    scope_spans_spans_kind Array(LowCardinality(String)),
    scope_spans_spans_start_time_unix_nano Array(UInt64),
    scope_spans_spans_end_time_unix_nano Array(UInt64),
    scope_spans_spans_status_code Array(LowCardinality(String)),
    scope_spans_spans_status_message Array(String),
    scope_spans_spans_flags Array(UInt32),
    scope_spans_spans_dropped_attributes_count Array(UInt32),
    scope_spans_spans_dropped_events_count Array(UInt32),
    scope_spans_spans_dropped_links_count Array(UInt32),
    scope_spans_spans_attributes Array(Array(Tuple(
        key String,
        value Tuple(
            value UInt8, string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
            array_value Tuple(values Array(Tuple(
                value UInt8, string_value String, bool_value Bool, int_value Int64, double_value Float64,
                bytes_value String
            ))),
            kvlist_value Tuple(values Array(Tuple(
                key String,
                value Tuple(
                    value UInt8, string_value String, bool_value Bool, int_value Int64, double_value Float64,
                    bytes_value String
                )
            )))
        )
    ))),
    scope_spans_spans_events_time_unix_nano Array(Array(UInt64)),
    scope_spans_spans_events_name Array(Array(String)),
    scope_spans_spans_events_dropped_attributes_count Array(Array(UInt32)),
    scope_spans_spans_events_attributes Array(Array(Array(Tuple(
        key String,
        value Tuple(
            value UInt8, string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String
        )
    )))),
    scope_spans_spans_links_trace_id Array(Array(String)),
    scope_spans_spans_links_span_id Array(Array(String)),
    scope_spans_spans_links_trace_state Array(Array(String)),
    scope_spans_spans_links_flags Array(Array(UInt32)),
    scope_spans_spans_links_dropped_attributes_count Array(Array(UInt32)),
    scope_spans_spans_links_attributes Array(Array(Array(Tuple(
        key String,
        value Tuple(
            value UInt8, string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String
        )
    ))))
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS overclaim_otlp_traces_mv TO otel_traces AS
WITH
    -- Numbers as Go and JavaScript write them.
    (d -> if(
        abs(d) < 1e21,
        toString(d),
        transform(
            toString(d), ['nan', 'inf', '-inf'], ['NaN', 'Infinity', '-Infinity'], replaceOne(toString(d), 'e', 'e+')
        )
    )) AS double_text,
    -- A plain value inside of a list or map. Maps have their keys sorted, as Go writes them.
    (v -> multiIf(
        v.value = 1, toJSONString(v.string_value),
        v.value = 2, toString(v.bool_value),
        v.value = 3, toString(v.int_value),
        v.value = 4 AND isFinite(v.double_value), double_text(v.double_value),
        v.value = 4, concat('"', double_text(v.double_value), '"'),
        v.value = 7, concat('"', base64Encode(v.bytes_value), '"'),
        'null'
    )) AS json,
    (v -> concat('[', arrayStringConcat(arrayMap(i -> json(i), v.array_value.values), ','), ']')) AS list_json,
    (v -> concat(
        '{',
        arrayStringConcat(
            arrayMap(
                i -> concat(toJSONString(i.key), ':', json(i.value)), arraySort(i -> i.key, v.kvlist_value.values)
            ),
            ','
        ),
        '}'
    )) AS map_json,
    -- Values by themselves: of spans, resources, and all others. Each is written out, since a condition inside of another
    -- one costs twice as much as all of the rest.
    (v -> multiIf(
        v.value = 1, v.string_value,
        v.value = 2, toString(v.bool_value),
        v.value = 3, toString(v.int_value),
        v.value = 4, double_text(v.double_value),
        v.value = 5, list_json(v),
        v.value = 6, map_json(v),
        v.value = 7, base64Encode(v.bytes_value),
        ''
    )) AS text,
    (v -> multiIf(
        v.value = 1, v.string_value,
        v.value = 2, toString(v.bool_value),
        v.value = 3, toString(v.int_value),
        v.value = 4, double_text(v.double_value),
        v.value = 5, list_json(v),
        v.value = 7, base64Encode(v.bytes_value),
        ''
    )) AS resource_text,
    (v -> multiIf(
        v.value = 1, v.string_value,
        v.value = 2, toString(v.bool_value),
        v.value = 3, toString(v.int_value),
        v.value = 4, double_text(v.double_value),
        v.value = 7, base64Encode(v.bytes_value),
        ''
    )) AS plain_text,
    (a -> CAST((a.key, arrayMap(p -> plain_text(p.value), a)), 'Map(LowCardinality(String), String)')) AS plain_map,
    -- The types of attributes that are no strings, by key.
    (a -> CAST(
        (
            arrayFilter((k, t) -> t != 1, a.key, a.value.value),
            arrayMap(
                t -> ['Empty', 'Str', 'Bool', 'Int', 'Double', 'Slice', 'Map', 'Bytes'][t + 1],
                arrayFilter(t -> t != 1, a.value.value)
            )
        ),
        'Map(LowCardinality(String), LowCardinality(String))'
    )) AS types,
    CAST(
        (resource_attributes.key, arrayMap(p -> resource_text(p.value), resource_attributes)),
        'Map(LowCardinality(String), String)'
    ) AS resource
SELECT
    fromUnixTimestamp64Nano(toInt64(started)) AS Timestamp,
    lower(hex(trace_id)) AS TraceId,
    lower(hex(span_id)) AS SpanId,
    lower(hex(parent_span_id)) AS ParentSpanId,
    trace_state AS TraceState,
    name AS SpanName,
    kind AS SpanKind,
    resource['service.name'] AS ServiceName,
    resource AS ResourceAttributes,
    scope_spans_scope_name AS ScopeName,
    scope_spans_scope_version AS ScopeVersion,
    CAST(
        (attributes.key, arrayMap(p -> text(p.value), attributes)), 'Map(LowCardinality(String), String)'
    ) AS SpanAttributes,
    ended - started AS Duration,
    status_code AS StatusCode,
    status_message AS StatusMessage,
    arrayMap(t -> fromUnixTimestamp64Nano(toInt64(t)), event_times) AS `Events.Timestamp`,
    event_names AS `Events.Name`,
    arrayMap(a -> plain_map(a), event_attributes) AS `Events.Attributes`,
    arrayMap(i -> lower(hex(i)), link_trace_ids) AS `Links.TraceId`,
    arrayMap(i -> lower(hex(i)), link_span_ids) AS `Links.SpanId`,
    link_states AS `Links.TraceState`,
    arrayMap(a -> plain_map(a), link_attributes) AS `Links.Attributes`,
    flags AS TraceFlags,
    dropped_attributes AS DroppedAttributes,
    dropped_events AS DroppedEvents,
    dropped_links AS DroppedLinks,
    schema_url AS ResourceSchemaUrl,
    types(resource_attributes) AS ResourceAttributeTypes,
    resource_dropped_attributes_count AS ResourceDroppedAttributes,
    scope_spans_schema_url AS ScopeSchemaUrl,
    plain_map(scope_spans_scope_attributes) AS ScopeAttributes,
    scope_spans_scope_dropped_attributes_count AS ScopeDroppedAttributes,
    types(attributes) AS SpanAttributeTypes,
    event_dropped AS EventDroppedAttributes,
    link_dropped AS LinkDroppedAttributes,
    link_flags AS LinkFlags
FROM overclaim_otlp_traces
ARRAY JOIN
    scope_spans_spans_trace_id AS trace_id,
    scope_spans_spans_span_id AS span_id,
    scope_spans_spans_parent_span_id AS parent_span_id,
    scope_spans_spans_trace_state AS trace_state,
    scope_spans_spans_name AS name,
    scope_spans_spans_kind AS kind,
    scope_spans_spans_start_time_unix_nano AS started,
    scope_spans_spans_end_time_unix_nano AS ended,
    scope_spans_spans_status_code AS status_code,
    scope_spans_spans_status_message AS status_message,
    scope_spans_spans_flags AS flags,
    scope_spans_spans_dropped_attributes_count AS dropped_attributes,
    scope_spans_spans_dropped_events_count AS dropped_events,
    scope_spans_spans_dropped_links_count AS dropped_links,
    scope_spans_spans_attributes AS attributes,
    scope_spans_spans_events_time_unix_nano AS event_times,
    scope_spans_spans_events_name AS event_names,
    scope_spans_spans_events_dropped_attributes_count AS event_dropped,
    scope_spans_spans_events_attributes AS event_attributes,
    scope_spans_spans_links_trace_id AS link_trace_ids,
    scope_spans_spans_links_span_id AS link_span_ids,
    scope_spans_spans_links_trace_state AS link_states,
    scope_spans_spans_links_flags AS link_flags,
    scope_spans_spans_links_dropped_attributes_count AS link_dropped,
    scope_spans_spans_links_attributes AS link_attributes;
