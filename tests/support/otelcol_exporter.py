"""What the OpenTelemetry Collector's ClickHouse exporter does, release by release: its tables, and its inserts.

Facts (columns, types, keys, what becomes of a value) are those of exporter/clickhouseexporter in contrib sources.
It inserts in the Native format over HTTP, which clickhouse-connect does too. The program itself is not run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from overclaim.reading.otlp_values import attributes_from_proto
from overclaim_collector.otlp.value_text import as_text

Row = tuple[Any, ...]
Insert = Callable[[str, Sequence[str], Sequence[Row]], None]

_HEAD = """
CREATE TABLE IF NOT EXISTS otel_traces (
    Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    ParentSpanId String CODEC(ZSTD(1)),
    TraceState String CODEC(ZSTD(1)),
    SpanName LowCardinality(String) CODEC(ZSTD(1)),
    SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
"""
_SCOPE = """
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion String CODEC(ZSTD(1)),
"""
_MAPS = """
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
"""
_REST = """
    StatusCode LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    Events Nested (
        Timestamp DateTime64(9),
        Name LowCardinality(String),
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    Links Nested (
        TraceId String,
        SpanId String,
        TraceState String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
"""
_JSON_REST = _REST.replace("Map(LowCardinality(String), String)", "JSON")
_BLOOM = """
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_res_attr_key mapKeys(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_res_attr_value mapValues(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_span_attr_key mapKeys(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_span_attr_value mapValues(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX idx_duration Duration TYPE minmax GRANULARITY 1
"""
_ITEMS = """
    ResourceAttributeItems Array(String) ALIAS
        arrayMap((k, v) -> concat(k, '=', v), mapKeys(ResourceAttributes), mapValues(ResourceAttributes)),
    SpanAttributeItems Array(String) ALIAS
        arrayMap((k, v) -> concat(k, '=', v), mapKeys(SpanAttributes), mapValues(SpanAttributes)),
    INDEX idx_trace_id TraceId TYPE text(tokenizer = 'array'),
    INDEX idx_res_attr_keys mapKeys(ResourceAttributes) TYPE text(tokenizer = 'array'),
    INDEX idx_span_attr_keys mapKeys(SpanAttributes) TYPE text(tokenizer = 'array'),
    INDEX idx_res_attr_items ResourceAttributeItems TYPE text(tokenizer = 'array'),
    INDEX idx_span_attr_items SpanAttributeItems TYPE text(tokenizer = 'array'),
    INDEX idx_duration Duration TYPE minmax GRANULARITY 1,
    INDEX idx_lower_span_name lower(SpanName) TYPE tokenbf_v1(32768, 3, 0) GRANULARITY 8
"""
_JSON_ATTRIBUTES = """
    ResourceAttributes JSON CODEC(ZSTD(1)),
    SpanAttributes JSON CODEC(ZSTD(1)),
"""
_KEYS = """
    ResourceAttributesKeys Array(LowCardinality(String)) CODEC(ZSTD(1)),
    SpanAttributesKeys Array(LowCardinality(String)) CODEC(ZSTD(1)),
"""
_DURATION = "    Duration UInt64 CODEC(T64, ZSTD(1)),"
_SIGNED = "    Duration Int64 CODEC(ZSTD(1)),"
_ONLY_DURATION = "    INDEX idx_duration Duration TYPE minmax GRANULARITY 1\n"
_KEYS_AND_TIME = """) ENGINE = MergeTree()
PARTITION BY toDate(Timestamp)
PRIMARY KEY (ServiceName, SpanName, toDateTime(Timestamp))
ORDER BY (ServiceName, SpanName, toDateTime(Timestamp), Timestamp)
TTL toDateTime(Timestamp) + toIntervalDay(30)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
_OLDER_KEYS = """) ENGINE = MergeTree()
PARTITION BY toDate(Timestamp)
ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
_OLDEST_KEYS = """) ENGINE = MergeTree()
PARTITION BY toDate(Timestamp)
ORDER BY (ServiceName, SpanName, toUnixTimestamp(Timestamp), TraceId)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
_TIMES = """
CREATE TABLE IF NOT EXISTS otel_traces_trace_id_ts (
    TraceId String CODEC(ZSTD(1)),
    Start SimpleAggregateFunction(min, DateTime) CODEC(ZSTD(1)),
    End SimpleAggregateFunction(max, DateTime) CODEC(ZSTD(1))
) ENGINE = AggregatingMergeTree()
PARTITION BY toStartOfWeek(Start)
ORDER BY TraceId
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
_OLDER_TIMES = """
CREATE TABLE IF NOT EXISTS otel_traces_trace_id_ts (
    TraceId String CODEC(ZSTD(1)),
    Start DateTime CODEC(Delta, ZSTD(1)),
    End DateTime CODEC(Delta, ZSTD(1)),
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.01) GRANULARITY 1
) ENGINE = MergeTree()
PARTITION BY toDate(Start)
ORDER BY (TraceId, Start)
SETTINGS index_granularity = 8192
"""
_TIMES_VIEW = """
CREATE MATERIALIZED VIEW IF NOT EXISTS otel_traces_trace_id_ts_mv TO otel_traces_trace_id_ts
AS SELECT TraceId, min(Timestamp) AS Start, max(Timestamp) AS End
FROM otel_traces WHERE TraceId != '' GROUP BY TraceId
"""
_LOG_COLUMNS = """
CREATE TABLE IF NOT EXISTS otel_logs (
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TimestampTime DateTime DEFAULT toDateTime(Timestamp),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    TraceFlags UInt8,
    SeverityText LowCardinality(String) CODEC(ZSTD(1)),
    SeverityNumber UInt8,
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    Body String CODEC(ZSTD(1)),
    ResourceSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes {attributes} CODEC(ZSTD(1)),
    ScopeSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
    ScopeAttributes {attributes} CODEC(ZSTD(1)),
    LogAttributes {attributes} CODEC(ZSTD(1))"""
_LOG_REST = """,
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_body Body TYPE tokenbf_v1(32768, 3, 0) GRANULARITY 8
) ENGINE = MergeTree()
PARTITION BY toDate(TimestampTime)
PRIMARY KEY (ServiceName, TimestampTime)
ORDER BY (ServiceName, TimestampTime, Timestamp)
TTL TimestampTime + toIntervalDay(3)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
_OLD_JSON_LOG_REST = """
) ENGINE = MergeTree()
PARTITION BY toDate(TimestampTime)
PRIMARY KEY (toStartOfFiveMinutes(Timestamp), ServiceName)
ORDER BY (toStartOfFiveMinutes(Timestamp), ServiceName, Timestamp)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
_EVENT_NAME = ",\n    EventName String CODEC(ZSTD(1))"
_MAP_LOG_COLUMNS = _LOG_COLUMNS.format(attributes="Map(LowCardinality(String), String)")
_JSON_LOG_COLUMNS = _LOG_COLUMNS.format(attributes="JSON")
# Log records in the two variants; the old ones are those from before a column for the name of an event.
MAP_LOGS = _MAP_LOG_COLUMNS + _EVENT_NAME + _LOG_REST
OLD_MAP_LOGS = _MAP_LOG_COLUMNS + _LOG_REST
JSON_LOGS = _JSON_LOG_COLUMNS + _EVENT_NAME + _LOG_REST
OLD_JSON_LOGS = _JSON_LOG_COLUMNS + _OLD_JSON_LOG_REST
_KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_STATUSES = ("Unset", "Ok", "Error")
_MAX = 1 << 64


@dataclass(frozen=True)
class Release:
    """How one release has its tables and writes its rows."""

    name: str
    tables: tuple[str, ...]
    scoped: bool = True  # columns for the scope
    json: bool = False  # attributes as JSON, and durations below zero wrapped
    keys: bool = False  # with columns for the keys of the JSON
    spelled: bool = False  # SPAN_KIND_INTERNAL rather than Internal

    def make_tables(self, run: Callable[[str], object]) -> None:
        """Its create_schema."""
        for statement in self.tables:
            run(statement)

    def push(self, body: bytes, insert: Insert) -> None:
        """Its export of a trace request in protobuf: one insert."""
        rows = [self._row(*one) for one in spans(ExportTraceServiceRequest.FromString(body))]
        insert("otel_traces", list(rows[0]), [tuple(row.values()) for row in rows])

    def _row(self, resource: Resource, scope: InstrumentationScope, span: Span) -> dict[str, Any]:
        of_resource, own = attributes_from_proto(resource.attributes), attributes_from_proto(span.attributes)
        names = {"otel.scope.name": scope.name, "otel.scope.version": scope.version}
        row: dict[str, Any] = {
            "Timestamp": span.start_time_unix_nano,
            "TraceId": span.trace_id.hex(),
            "SpanId": span.span_id.hex(),
            "ParentSpanId": span.parent_span_id.hex(),
            "TraceState": span.trace_state,
            "SpanName": span.name,
            "SpanKind": f"SPAN_KIND_{_KINDS[span.kind].upper()}" if self.spelled else _KINDS[span.kind],
            "ServiceName": as_text(of_resource.get("service.name")),
            "ResourceAttributes": self._attributes(of_resource),
            "SpanAttributes": self._attributes(own if self.scoped else own | names),
            "Duration": self._duration(span),
            "StatusCode": self._status(span),
            "StatusMessage": span.status.message,
            "Events.Timestamp": [event.time_unix_nano for event in span.events],
            "Events.Name": [event.name for event in span.events],
            "Events.Attributes": [self._attributes(attributes_from_proto(one.attributes)) for one in span.events],
            "Links.TraceId": [link.trace_id.hex() for link in span.links],
            "Links.SpanId": [link.span_id.hex() for link in span.links],
            "Links.TraceState": [link.trace_state for link in span.links],
            "Links.Attributes": [self._attributes(attributes_from_proto(one.attributes)) for one in span.links],
        }
        row |= {"ScopeName": scope.name, "ScopeVersion": scope.version} if self.scoped else {}
        return row | ({"ResourceAttributesKeys": [*of_resource], "SpanAttributesKeys": [*own]} if self.keys else {})

    def _attributes(self, attributes: Mapping[str, object]) -> object:
        if self.json:
            return json.dumps(dict(attributes))
        return {name: as_text(value) for name, value in attributes.items()}

    def _duration(self, span: Span) -> int:
        taken = span.end_time_unix_nano - span.start_time_unix_nano
        return taken % _MAX if self.json else taken if self.spelled else max(0, taken)

    def _status(self, span: Span) -> str:
        status = _STATUSES[span.status.code]
        return f"STATUS_CODE_{status.upper()}" if self.spelled else status


def spans(request: ExportTraceServiceRequest) -> Iterator[tuple[Resource, InstrumentationScope, Span]]:
    """The spans of a request with what they come from."""
    for of_resource in request.resource_spans:
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield of_resource.resource, of_scope.scope, span


def _table(*parts: str) -> str:
    return "".join(parts)


_JSON_HEAD = (_HEAD, _JSON_ATTRIBUTES)
RELEASES: tuple[Release, ...] = (
    Release("newest", (_table(_HEAD, _MAPS, _SCOPE, _DURATION, _REST, _ITEMS, _KEYS_AND_TIME), _TIMES, _TIMES_VIEW)),
    Release("bloom", (_table(_HEAD, _MAPS, _SCOPE, _DURATION, _REST, _BLOOM, _KEYS_AND_TIME), _TIMES, _TIMES_VIEW)),
    Release("older", (_table(_HEAD, _MAPS, _SCOPE, _DURATION, _REST, _BLOOM, _OLDER_KEYS), _OLDER_TIMES, _TIMES_VIEW)),
    Release(
        "oldest",
        (_table(_HEAD, _MAPS, _SIGNED, _REST, _BLOOM, _OLDEST_KEYS), _OLDER_TIMES, _TIMES_VIEW),
        scoped=False,
        spelled=True,
    ),
    Release(
        "json",
        (_table(*_JSON_HEAD, _SCOPE, _DURATION, _JSON_REST, _ONLY_DURATION, _KEYS_AND_TIME), _TIMES, _TIMES_VIEW),
        json=True,
    ),
    Release(
        "json with keys",
        (
            _table(*_JSON_HEAD, _KEYS, _SCOPE, _DURATION, _JSON_REST, _ONLY_DURATION, _KEYS_AND_TIME),
            _TIMES,
            _TIMES_VIEW,
        ),
        json=True,
        keys=True,
    ),
)


def by_name(names: Collection[str]) -> list[Release]:
    """Some of the releases."""
    return [release for release in RELEASES if release.name in names]
