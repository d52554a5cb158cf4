from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from overclaim._errors import InputError
from overclaim.reading.otlp_files import decode_json, decode_protobuf
from overclaim.reading.otlp_values import attributes_from_json, from_json
from overclaim.reading.spans import kind_name, status_name

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"


def span(**fields: Any) -> dict[str, Any]:
    """One span in OTLP/JSON."""
    return {"traceId": TRACE, "spanId": SPAN, "name": "execute_tool x", **fields}


def request(*spans: dict[str, Any], service: str = "shop") -> dict[str, Any]:
    """A trace request with one resource and one scope."""
    name = {"key": "service.name", "value": {"stringValue": service}}
    scoped = {"scope": {"name": "lib", "version": "1"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": [name]}, "scopeSpans": [scoped]}]}


def test_a_span_is_read_with_all_its_parts() -> None:
    """Ids, times, kind, status, attributes, events, links and dropped counts."""
    attribute = {"key": "n", "value": {"intValue": "9007199254740993"}}
    raw = span(
        parentSpanId="00F067AA0BA902B7",
        kind=3,
        startTimeUnixNano="1700000000000000001",
        endTimeUnixNano=1700000000000000002,
        status={"code": 2, "message": "no"},
        attributes=[attribute],
        events=[{"name": "exception", "timeUnixNano": "5", "attributes": [attribute]}],
        links=[{"traceId": TRACE.upper(), "spanId": SPAN.upper()}],
        droppedAttributesCount=1,
        droppedEventsCount=2,
    )
    (read,) = decode_json(request(raw)).spans
    assert (read.service, read.scope, read.kind, read.status) == ("shop", "lib", "Client", "Error")
    assert read.parent_span_id == "00f067aa0ba902b7"
    assert (read.start_ns, read.end_ns) == (1700000000000000001, 1700000000000000002)
    assert read.attributes == {"n": 9007199254740993}
    assert read.events[0].time_ns == 5
    assert (read.links[0].trace_id, read.links[0].span_id) == (TRACE, SPAN)
    assert read.dropped == 3
    assert read.failed


def test_protobuf_and_json_give_the_same_spans() -> None:
    """The same request in both encodings."""
    from google.protobuf import json_format

    values = [
        {"key": "s", "value": {"stringValue": "x"}},
        {"key": "b", "value": {"boolValue": True}},
        {"key": "i", "value": {"intValue": "-3"}},
        {"key": "d", "value": {"doubleValue": 0.5}},
        {"key": "y", "value": {"bytesValue": "AAE="}},
        {"key": "a", "value": {"arrayValue": {"values": [{"stringValue": "p"}, {}]}}},
        {"key": "m", "value": {"kvlistValue": {"values": [{"key": "k", "value": {"intValue": "1"}}]}}},
        {"key": "none", "value": {}},
    ]
    document = request(span(kind=2, attributes=values, startTimeUnixNano="1", endTimeUnixNano="2"))
    message = ExportTraceServiceRequest()
    json_format.ParseDict(request(span(kind=2, attributes=values, startTimeUnixNano="1", endTimeUnixNano="2")), message)
    (proto,) = message.resource_spans[0].scope_spans[0].spans
    proto.trace_id, proto.span_id = bytes.fromhex(TRACE), bytes.fromhex(SPAN)
    assert decode_protobuf(message.SerializeToString()) == decode_json(document)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"stringValue": ""}, ""),
        ({"boolValue": False}, False),
        ({"intValue": 7}, 7),
        ({"intValue": "7"}, 7),
        ({"intValue": 10**4000}, None),
        ({"doubleValue": 10**400}, None),
        ({"doubleValue": 0}, 0.0),
        ({"doubleValue": "-Infinity"}, float("-inf")),
        ({"doubleValue": "odd"}, None),
        ({"bytesValue": "AAE="}, b"\x00\x01"),
        ({"bytesValue": "!"}, None),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "k", "value": None}]}}, {"k": None}),
        ({"stringValue": None, "intValue": "4"}, 4),
        ({"newKind": 1}, None),
        ({}, None),
        (None, None),
    ],
)
def test_any_value_becomes_plain(value: object, plain: object) -> None:
    """Each kind of AnyValue, with null as absent and unknown kinds as nothing."""
    assert from_json(value) == plain


def test_deep_values_end() -> None:
    """A value nested without end is cut, not followed."""
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(500):
        value = {"arrayValue": {"values": [value]}}
    assert "x" not in json.dumps(from_json(value))


def test_of_equal_keys_the_last_wins() -> None:
    """Senders must not repeat a key; where they do, the answer is the same every time."""
    pairs = [{"key": "a", "value": {"stringValue": str(n)}} for n in range(3)]
    assert attributes_from_json(pairs) == {"a": "2"}


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"traceId": "abcd"}, "traceId 'abcd'"),
        ({"traceId": "0" * 32}, "not all zero"),
        ({"spanId": "7ugbfspbsxQ="}, "spanId"),
        ({"parentSpanId": "12"}, "parentSpanId"),
        ({"kind": "SPAN_KIND_CLIENT"}, "kind 'SPAN_KIND_CLIENT' is not an integer"),
        ({"status": {"code": "STATUS_CODE_ERROR"}}, "status.code"),
    ],
)
def test_a_bad_span_is_left_out_and_named(fields: dict[str, Any], part: str) -> None:
    """The other spans of the request are kept."""
    decoded = decode_json(request(span(**fields), span()))
    assert len(decoded.spans) == 1
    assert part in decoded.rejected[0]


@pytest.mark.parametrize(
    "document",
    [{}, {"resourceSpans": []}, {"resourceSpans": None}, {"resourceSpans": [{"scopeSpans": [{"spans": None}]}]}, [], 3],
)
def test_envelopes_may_be_empty(document: object) -> None:
    """No spans is no fault."""
    assert decode_json(document).spans == []


def test_unknown_fields_and_snake_case_are_ignored() -> None:
    """Fields of later versions do no harm; other spellings are not the protocol."""
    raw = span(future={"x": 1}, parent_span_id="00f067aa0ba902b7", kind=99)
    (read,) = decode_json(request(raw) | {"other": 1}).spans
    assert read.parent_span_id == ""
    assert read.kind == "Unspecified"


def test_bytes_that_are_no_request_are_refused() -> None:
    """A truncated export says so."""
    with pytest.raises(InputError, match="no OTLP trace request"):
        decode_protobuf(b"\x0a\xff\x01")


@pytest.mark.parametrize("name", ["SPAN_KIND_SERVER", "Server", 2])
def test_both_spellings_of_a_kind_are_known(name: object) -> None:
    """Stores keep the one or the other."""
    assert kind_name(name) == "Server"


@pytest.mark.parametrize("name", ["STATUS_CODE_ERROR", "Error", 2])
def test_both_spellings_of_a_status_are_known(name: object) -> None:
    """Stores keep the one or the other."""
    assert status_name(name) == "Error"


def test_numbers_that_no_field_can_hold_are_left_out() -> None:
    """Times and counts of thousands of digits do not reach the judging."""
    (read,) = decode_json(
        request(span(startTimeUnixNano=10**4000, endTimeUnixNano=-1, droppedEventsCount=10**99))
    ).spans
    assert (read.start_ns, read.end_ns, read.dropped) == (0, 0, 0)
