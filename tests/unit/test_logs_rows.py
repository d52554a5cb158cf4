"""Log records: what becomes of each in the check, and the rows of otel_logs."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from otlp_rows import Rows, rows_of

from overclaim_collector.otlp import shape
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.logs import COLUMNS
from overclaim_collector.otlp.signals import LOGS
from overclaim_collector.refusal import Reason, Refusal

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
AT = 1_790_000_000_123_456_789


def record(**changes: Any) -> LogRecord:
    """A good record, with some fields changed."""
    given = {"trace_id": bytes.fromhex(TRACE), "span_id": bytes.fromhex(SPAN), "time_unix_nano": AT}
    return LogRecord(**{**given, "observed_time_unix_nano": AT + 5, **changes})


def body_of(*records: LogRecord) -> bytes:
    """A protobuf request with these records."""
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add(log_records=records)
    return request.SerializeToString()


def decoded(*records: LogRecord) -> Rows:
    """What these records become."""
    return rows_of(body_of(*records), Encoding.PROTOBUF, LOGS)


def from_json(*records: dict[str, Any]) -> Rows:
    """What these records in OTLP/JSON become."""
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}
    return rows_of(json.dumps(request).encode(), Encoding.JSON, LOGS)


def only(rows: Rows) -> dict[str, Any]:
    """The single row by column names."""
    (row,) = rows.rows
    return dict(zip(COLUMNS, row, strict=True))


def value(of: Any) -> AnyValue:
    """A text, or the fields of an AnyValue."""
    return AnyValue(string_value=of) if isinstance(of, str) else AnyValue(**of)


def pairs(**of: Any) -> list[KeyValue]:
    """Attributes by name."""
    return [KeyValue(key=key, value=value(given)) for key, given in of.items()]


def test_a_whole_record_becomes_a_row() -> None:
    """Every field of OTLP has its column, as the Collector's exporter has them and in ours beside them."""
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add(schema_url="https://r")
    group.resource.attributes.extend([*pairs(pid={"int_value": 7}), KeyValue(key="service.name", value=value("shop"))])
    group.resource.dropped_attributes_count = 2
    scoped = group.scope_logs.add(schema_url="https://s")
    scoped.scope.name, scoped.scope.version, scoped.scope.dropped_attributes_count = "app.pay", "1.2", 3
    scoped.scope.attributes.extend(pairs(kind="audit"))
    attributes = pairs(retry={"bool_value": True}, amount={"double_value": 0.5}, who="ann")
    scoped.log_records.append(
        record(
            severity_number=17, severity_text="ERROR", body=value("no stock"), attributes=attributes, flags=0x301,
            event_name="order.failed", dropped_attributes_count=4,
        )
    )  # fmt: skip
    row = only(rows_of(request.SerializeToString(), Encoding.PROTOBUF, LOGS))
    assert row == {
        "Timestamp": AT,
        "TraceId": TRACE,
        "SpanId": SPAN,
        "TraceFlags": 1,
        "SeverityText": "ERROR",
        "SeverityNumber": 17,
        "ServiceName": "shop",
        "Body": "no stock",
        "ResourceSchemaUrl": "https://r",
        "ResourceAttributes": {"pid": "7", "service.name": "shop"},
        "ScopeSchemaUrl": "https://s",
        "ScopeName": "app.pay",
        "ScopeVersion": "1.2",
        "ScopeAttributes": {"kind": "audit"},
        "LogAttributes": {"retry": "true", "amount": "0.5", "who": "ann"},
        "EventName": "order.failed",
        "ObservedTimestamp": AT + 5,
        "DroppedAttributes": 4,
        "BodyType": "",
        "LogAttributeTypes": {"retry": "Bool", "amount": "Double"},
        "ResourceAttributeTypes": {"pid": "Int"},
        "ResourceDroppedAttributes": 2,
        "ScopeDroppedAttributes": 3,
    }


@pytest.mark.parametrize(
    ("body", "text", "kind"),
    [
        ("words", "words", ""),
        ({"int_value": 5}, "5", "Int"),
        ({"bytes_value": b"\x00\xff"}, "AP8=", "Bytes"),
        ({"array_value": ArrayValue(values=[value("a"), AnyValue(bool_value=False)])}, '["a",false]', "Slice"),
        ({"kvlist_value": KeyValueList(values=pairs(index={"int_value": 0}))}, '{"index":0}', "Map"),
        ({}, "", "Empty"),
    ],
)
def test_bodies_are_texts_and_their_types_are_kept(body: Any, text: str, kind: str) -> None:
    """As the Collector writes values as text."""
    row = only(decoded(record(body=value(body))))
    assert (row["Body"], row["BodyType"]) == (text, kind)


def test_a_record_without_a_body_has_an_empty_one() -> None:
    """An event may be all attributes."""
    row = only(decoded(record(event_name="gen_ai.evaluation.result")))
    assert (row["Body"], row["BodyType"]) == ("", "Empty")


def test_the_time_of_observation_stands_in_for_an_unknown_time() -> None:
    """As the data model has it, which is nothing to tell the sender."""
    rows = decoded(record(time_unix_nano=0))
    assert (only(rows)["Timestamp"], rows.message) == (AT + 5, "")


def test_the_time_of_arrival_stands_in_where_no_time_is_known() -> None:
    """And the sender is told."""
    before = time.time_ns()
    rows = decoded(record(time_unix_nano=0, observed_time_unix_nano=0))
    assert before <= only(rows)["Timestamp"] == only(rows)["ObservedTimestamp"] <= time.time_ns()
    assert rows.message == "1 stored with a change: no time; the time of arrival is taken"


def test_the_time_stands_in_for_an_unknown_observation() -> None:
    """Also where that is later than any column can hold."""
    for observed in (0, 1 << 63):
        assert only(decoded(record(observed_time_unix_nano=observed)))["ObservedTimestamp"] == AT


def test_a_time_after_2262_is_refused_and_the_others_stay() -> None:
    """With the reason, and the count of those that were."""
    rows = decoded(record(), record(time_unix_nano=1 << 63), record(time_unix_nano=(1 << 63) - 1))
    assert len(rows.rows) == 2
    assert rows.refused == {"time after the year 2262": 1}


@pytest.mark.parametrize("field", ["trace_id", "span_id"])
@pytest.mark.parametrize("size", [1, 7, 9, 15, 17])
def test_a_record_with_an_id_of_wrong_length_belongs_to_nothing(field: str, size: int) -> None:
    """As logs.proto has it: the record is kept without the id, and the sender is told."""
    rows = decoded(record(**{field: b"\x01" * size}))
    assert only(rows)["TraceId" if field == "trace_id" else "SpanId"] == ""
    assert rows.refused == {}
    assert f"{field.replace('_', ' ')} of {size} bytes" in rows.message


def test_records_outside_of_traces_are_ordinary() -> None:
    """No ids, or ids of zeros, are nothing to tell."""
    rows = decoded(record(trace_id=b"", span_id=b""), record(trace_id=bytes(16), span_id=bytes(8)))
    assert [row[1:3] for row in rows.rows] == [("", ""), ("", "")]
    assert rows.message == ""


@pytest.mark.parametrize(("number", "kept"), [(0, 0), (1, 1), (24, 24), (25, 0), (-1, 0), (300, 0)])
def test_a_severity_that_is_none_counts_as_unknown(number: int, kept: int) -> None:
    """The data model knows 1 to 24."""
    assert only(decoded(record(severity_number=number)))["SeverityNumber"] == kept


def test_an_event_may_bear_its_name_as_an_attribute() -> None:
    """As events did before the field came; the field goes first."""
    named = [KeyValue(key="event.name", value=value("gen_ai.choice"))]
    assert only(decoded(record(attributes=named)))["EventName"] == "gen_ai.choice"
    assert only(decoded(record(attributes=named, event_name="exception")))["EventName"] == "exception"


def test_json_and_protobuf_give_the_same_rows() -> None:
    """Hexadecimal ids, integers as strings, structured bodies."""
    said = {"message": {"role": "assistant", "content": "Done."}}
    inner = KeyValueList(values=pairs(role="assistant", content="Done."))
    body = {"kvlist_value": KeyValueList(values=[KeyValue(key="message", value=AnyValue(kvlist_value=inner))])}
    message = [{"key": key, "value": {"stringValue": text}} for key, text in said["message"].items()]
    written = {
        "timeUnixNano": str(AT),
        "observedTimeUnixNano": str(AT + 5),
        "traceId": TRACE.upper(),
        "spanId": SPAN,
        "severityNumber": 9,
        "eventName": "gen_ai.choice",
        "body": {"kvlistValue": {"values": [{"key": "message", "value": {"kvlistValue": {"values": message}}}]}},
        "unknown": 1,
    }
    rows = from_json(written)
    assert rows.rows == decoded(record(severity_number=9, event_name="gen_ai.choice", body=value(body))).rows
    assert json.loads(only(rows)["Body"]) == said


def test_a_record_that_json_cannot_hold_is_refused_alone() -> None:
    """The others are none the worse."""
    good = {"timeUnixNano": str(AT), "body": {"stringValue": "fine"}}
    rows = from_json(good, {**good, "traceId": "nonsense"}, {**good, "severityNumber": "ERROR"})
    assert [row[7] for row in rows.rows] == ["fine"]
    assert rows.refused.total() == 2


def test_messages_in_a_request_of_logs_are_counted() -> None:
    """A body of many empty parts is refused before it fills the memory: by the fields of log records, not of spans."""
    count = 40
    body = body_of(record(attributes=[KeyValue()] * count, body=AnyValue(array_value=ArrayValue(values=[AnyValue()]))))
    size = 3 + count + 3  # request, scope, record; attributes; body, array, value
    shape.check_protobuf(body, size, LOGS.request)
    with pytest.raises(Refusal) as refused:
        shape.check_protobuf(body, size - 1, LOGS.request)
    assert refused.value.reason is Reason.TOO_LARGE
