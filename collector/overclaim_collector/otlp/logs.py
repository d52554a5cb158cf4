"""OTLP log requests: the check of each record, and the rows of otel_logs.

The mapping is that of the OpenTelemetry Collector's ClickHouse exporter. Kept beside it: the time of observation, the
counts of dropped attributes and the types of values, which that exporter loses.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from overclaim_collector.otlp.items import Checked, Refused, Row
from overclaim_collector.otlp.spans import attributes, text_of, type_of, types_of

TABLE: Final = "otel_logs"
COLUMNS: Final = (
    "Timestamp",
    "TraceId",
    "SpanId",
    "TraceFlags",
    "SeverityText",
    "SeverityNumber",
    "ServiceName",
    "Body",
    "ResourceSchemaUrl",
    "ResourceAttributes",
    "ScopeSchemaUrl",
    "ScopeName",
    "ScopeVersion",
    "ScopeAttributes",
    "LogAttributes",
    "EventName",
    "ObservedTimestamp",
    "DroppedAttributes",
    "BodyType",
    "LogAttributeTypes",
    "ResourceAttributeTypes",
    "ResourceDroppedAttributes",
    "ScopeDroppedAttributes",
)
_LATEST: Final = (1 << 63) - 1  # DateTime64(9) ends on 2262-04-11
_MOST_SEVERE: Final = 24
_TRACE_FLAGS: Final = 0xFF  # the other bits are reserved
_EVENT_NAME: Final = "event.name"  # where the name of an event stood before it had a field of its own


def check(request: ExportLogsServiceRequest) -> Checked:
    """Take out the records that cannot be kept and mend what can be mended, in place; says what was done."""
    checked = Checked()
    for resource_logs in request.resource_logs:
        for scope_logs in resource_logs.scope_logs:
            _check_records(scope_logs.log_records, checked)
    return checked


def _check_records(records: Any, checked: Checked) -> None:
    bad: list[int] = []
    for index, record in enumerate(records):
        _mend(record, checked.mended)
        if record.time_unix_nano > _LATEST:
            checked.refused.append(Refused("time after the year 2262", record.SerializeToString()))
            bad.append(index)
    for index in reversed(bad):
        del records[index]
    checked.kept += len(records)


def _mend(record: LogRecord, mended: Counter[str]) -> None:
    """Put the fields of a record into the range of its columns."""
    _mend_times(record, mended)
    _mend_id(record, "trace_id", 16, mended)
    _mend_id(record, "span_id", 8, mended)
    if not 0 <= record.severity_number <= _MOST_SEVERE:
        record.ClearField("severity_number")


def _mend_times(record: LogRecord, mended: Counter[str]) -> None:
    """Logs data model: where the time of a record is unknown, that of its observation is taken."""
    if record.observed_time_unix_nano > _LATEST:
        record.observed_time_unix_nano = 0
    if not record.time_unix_nano:
        record.time_unix_nano = record.observed_time_unix_nano or time.time_ns()
        if not record.observed_time_unix_nano:
            mended["no time; the time of arrival is taken"] += 1
    record.observed_time_unix_nano = record.observed_time_unix_nano or record.time_unix_nano


def _mend_id(record: LogRecord, name: str, size: int, mended: Counter[str]) -> None:
    """logs.proto: a record with an invalid id belongs to no trace or span, and is a record all the same."""
    found: bytes = getattr(record, name)
    if not found or (len(found) == size and any(found)):
        return
    record.ClearField(name)  # pyright: ignore[reportArgumentType]
    if len(found) != size:
        mended[f"{name.replace('_', ' ')} of {len(found)} bytes instead of {size}; it is left out"] += 1


def rows(request: ExportLogsServiceRequest) -> list[Row]:
    """The rows of a checked request."""
    found: list[Row] = []
    for resource_logs in request.resource_logs:
        resource = resource_logs.resource
        of_resource = attributes(resource.attributes)
        service = of_resource.get("service.name", "")
        types = types_of(resource.attributes)
        for scope_logs in resource_logs.scope_logs:
            scope = scope_logs.scope
            of_scope = (scope_logs.schema_url, scope.name, scope.version, attributes(scope.attributes))
            shared = (resource_logs.schema_url, of_resource, *of_scope)
            dropped = (types, resource.dropped_attributes_count, scope.dropped_attributes_count)
            for record in scope_logs.log_records:
                found.append((*_head(record), service, text_of(record.body), *shared, *_tail(record), *dropped))
    return found


def _head(record: LogRecord) -> Row:
    return (
        record.time_unix_nano,
        record.trace_id.hex(),
        record.span_id.hex(),
        record.flags & _TRACE_FLAGS,
        record.severity_text,
        record.severity_number,
    )


def _tail(record: LogRecord) -> Row:
    own = attributes(record.attributes)
    return (
        own,
        record.event_name or own.get(_EVENT_NAME, ""),
        record.observed_time_unix_nano,
        record.dropped_attributes_count,
        type_of(record.body),
        types_of(record.attributes),
    )
