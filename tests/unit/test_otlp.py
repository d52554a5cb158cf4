from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_rows import Rows, rows_of

from overclaim_collector.otlp import shape
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.spans import COLUMNS
from overclaim_collector.otlp.value_text import float_text
from overclaim_collector.refusal import Reason, Refusal

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
START = 1_790_000_000_123_456_789


def json_span(**changes: Any) -> dict[str, Any]:
    """A good span in OTLP/JSON, with some fields changed."""
    times = {"startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 5)}
    return {"traceId": TRACE, "spanId": SPAN, "name": "step", "kind": 1, **times, **changes}


def from_json(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> Rows:
    """Decode a request with these spans."""
    scope = {"scope": {"name": "scope", "version": "1"}, "spans": list(spans)}
    request = {"resourceSpans": [{"resource": resource or {}, "scopeSpans": [scope]}]}
    return rows_of(json.dumps(request).encode(), Encoding.JSON)


def proto_span(**changes: Any) -> Span:
    """A good protobuf span, with some fields changed."""
    times = {"start_time_unix_nano": START, "end_time_unix_nano": START + 5}
    ids = {"trace_id": bytes.fromhex(TRACE), "span_id": bytes.fromhex(SPAN)}
    return Span(**{**ids, "name": "step", "kind": 1, **times, **changes})


def proto_body(*spans: Span) -> bytes:
    """A protobuf request with these spans."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add(spans=spans)
    return request.SerializeToString()


def from_proto(*spans: Span) -> Rows:
    """Decode a protobuf request with these spans."""
    return rows_of(proto_body(*spans), Encoding.PROTOBUF)


def only(rows: Rows) -> dict[str, Any]:
    """The single row by column names."""
    (row,) = rows.rows
    return dict(zip(COLUMNS, row, strict=True))


def attribute(value: dict[str, Any] | None, key: str = "key") -> str:
    """What is stored for a JSON attribute value."""
    return only(from_json(json_span(attributes=[{"key": key, "value": value}])))["SpanAttributes"][key]


def refusal(body: bytes, encoding: Encoding = Encoding.JSON) -> Refusal:
    """The refusal of a whole request."""
    with pytest.raises(Refusal) as caught:
        rows_of(body, encoding)
    return caught.value


def test_ids_are_hex_in_any_case_and_stored_in_lower_case() -> None:
    """Upper-case hex ids of OTLP/JSON are the same ids."""
    row = only(from_json(json_span(traceId=TRACE.upper(), spanId=SPAN.upper(), parentSpanId="00F067AA0BA902B7")))
    assert (row["TraceId"], row["SpanId"], row["ParentSpanId"]) == (TRACE, SPAN, "00f067aa0ba902b7")


@pytest.mark.parametrize("value", ["9007199254740993", 9007199254740993])
def test_64_bit_integers_are_exact_as_strings_and_as_numbers(value: object) -> None:
    """No integer goes through a float, where this one would lose its last digit."""
    assert attribute({"intValue": value}) == "9007199254740993"


def test_times_are_exact_as_numbers() -> None:
    """Nanoseconds keep all nineteen digits."""
    row = only(from_json(json_span(startTimeUnixNano=START, endTimeUnixNano=START + 1)))
    assert (row["Timestamp"], row["Duration"]) == (START, 1)


def test_unknown_and_snake_case_keys_are_skipped() -> None:
    """Senders may be newer than we are; snake_case is not OTLP/JSON and so is unknown."""
    span = json_span(future={"deep": [1]}, events=[{"name": "e", "new": 1}], trace_state="a=b")
    row = only(from_json(span))
    assert (row["Events.Name"], row["TraceState"]) == (["e"], "")
    assert rows_of(b'{"resource_spans": [{"scope_spans": [{}]}]}', Encoding.JSON).rows == []


def test_enum_names_are_refused_and_unknown_numbers_are_unspecified() -> None:
    """OTLP/JSON forbids enum names; numbers of the future are kept as far as the table can say."""
    bad = from_json(json_span(), json_span(kind="SPAN_KIND_CLIENT"))
    assert "1 refused: kind: enums are integers" in bad.message
    row = only(from_json(json_span(kind=17, status={"code": 9})))
    assert (row["SpanKind"], row["StatusCode"]) == ("Unspecified", "Unset")


@pytest.mark.parametrize(
    "kind", list(enumerate(["Unspecified", "Internal", "Server", "Client", "Producer", "Consumer"]))
)
def test_kinds_have_the_exporters_names(kind: tuple[int, str]) -> None:
    """Each kind is the word that the Collector's exporter writes."""
    assert only(from_proto(proto_span(kind=kind[0])))["SpanKind"] == kind[1]


@pytest.mark.parametrize(
    "body",
    ["{}", '{"resourceSpans":[]}', '{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}', '{"resourceSpans":null}'],
)
def test_a_request_without_spans_is_fine(body: str) -> None:
    """Empty requests and empty envelopes succeed."""
    result = rows_of(body.encode(), Encoding.JSON)
    assert (result.rows, result.message) == ([], "")


def test_null_means_absent() -> None:
    """A null field is a field that was not sent."""
    row = only(from_json(json_span(kind=None, attributes=None, status=None, parentSpanId=None)))
    assert (row["SpanKind"], row["SpanAttributes"], row["ParentSpanId"]) == ("Unspecified", {}, "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"stringValue": "é"}, "é"),
        ({"stringValue": ""}, ""),
        ({"boolValue": False}, "false"),
        ({"boolValue": True}, "true"),
        ({"intValue": "0"}, "0"),
        ({"intValue": "-5"}, "-5"),
        ({"doubleValue": 0}, "0"),
        ({"doubleValue": 2.5}, "2.5"),
        ({"doubleValue": 3.0}, "3"),
        ({"doubleValue": "NaN"}, "NaN"),
        ({"doubleValue": "-Infinity"}, "-Infinity"),
        ({"bytesValue": "AAE="}, "AAE="),
        ({"bytesValue": "-_8"}, "+/8="),
        ({"arrayValue": {"values": [{"stringValue": "<x>"}, {"intValue": "1"}, {}]}}, '["<x>",1,null]'),
        ({"arrayValue": {}}, "[]"),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"arrayValue": {"values": []}}}]}}, '{"k":[]}'),
        ({}, ""),
        (None, ""),
    ],
)
def test_values_become_text_as_the_specification_says(value: dict[str, Any] | None, text: str) -> None:
    """Every kind of attribute value has its one text."""
    assert attribute(value) == text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"traceId": "0af765"}, "trace id of 3 bytes"),
        ({"traceId": "0" * 32}, "trace id of zeros"),
        ({"traceId": ""}, "trace id of 0 bytes"),
        ({"spanId": "0" * 16}, "span id of zeros"),
        ({"spanId": "b7ad6b71692033"}, "span id of 7 bytes"),
        ({"parentSpanId": "b7"}, "parent span id of 1 bytes"),
        ({"startTimeUnixNano": str(2**64 - 1)}, "start time after the year 2262"),
    ],
)
def test_a_bad_span_is_refused_and_counted_and_the_good_ones_are_kept(change: dict[str, Any], reason: str) -> None:
    """One bad span costs itself only, and the sender is told how many and why."""
    result = from_json(json_span(), json_span(**change), json_span(spanId="a" * 16))
    assert [row[2] for row in result.rows] == [SPAN, "a" * 16]
    assert result.refused.total() == 1
    assert f"1 refused: {reason}" in result.message


@pytest.mark.parametrize("field", ["traceId", "spanId", "parentSpanId"])
def test_ids_that_are_not_hex_are_refused(field: str) -> None:
    """Base64 ids, protobuf's own JSON form, are not OTLP."""
    result = from_json(json_span(), json_span(**{field: "t61rcWkgMzE="}))
    assert (len(result.rows), result.refused.total()) == (1, 1)
    assert f"{field}: ids are hexadecimal" in result.message


def test_end_before_start_has_no_duration_and_a_warning() -> None:
    """A clock that stepped back must not give a duration of 584 years."""
    result = from_json(json_span(endTimeUnixNano=str(START - 1)))
    assert only(result)["Duration"] == 0
    assert "1 stored with a change: end before start" in result.message
    assert result.refused.total() == 0


def test_a_span_without_a_start_takes_its_end_time() -> None:
    """A missing start must not put the span into the year 1970."""
    row = only(from_json(json_span(startTimeUnixNano="0")))
    assert (row["Timestamp"], row["Duration"]) == (START + 5, 0)


def test_of_equal_keys_the_last_counts() -> None:
    """Senders must not repeat keys; if they do the result is the same every time."""
    pairs = [{"key": "k", "value": {"stringValue": word}} for word in ("first", "last")]
    assert only(from_json(json_span(attributes=pairs)))["SpanAttributes"] == {"k": "last"}


def test_service_name_is_taken_from_the_resource() -> None:
    """With a service name it is the service; without one it is empty, not a guess."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "billing"}}]}
    assert only(from_json(json_span(), resource=resource))["ServiceName"] == "billing"
    assert only(from_json(json_span()))["ServiceName"] == ""


def test_status_and_scope_are_kept() -> None:
    """Status code, status message, scope name and version have their columns."""
    row = only(from_json(json_span(status={"code": 1, "message": "by hand"})))
    assert (row["StatusCode"], row["StatusMessage"]) == ("Ok", "by hand")
    assert (row["ScopeName"], row["ScopeVersion"]) == ("scope", "1")


def test_events_and_links_are_kept() -> None:
    """Events and links keep times, ids and attributes in parallel lists."""
    mark = {"key": "a", "value": {"intValue": 1}}
    event = {"timeUnixNano": str(START), "name": "exception", "attributes": [mark]}
    link = {"traceId": TRACE, "spanId": SPAN, "traceState": "x=y", "attributes": [mark]}
    row = only(from_json(json_span(events=[event, event], links=[link])))
    assert (row["Events.Timestamp"], row["Events.Name"]) == ([START, START], ["exception", "exception"])
    assert row["Events.Attributes"] == [{"a": "1"}, {"a": "1"}]
    assert (row["Links.TraceId"], row["Links.SpanId"], row["Links.TraceState"]) == ([TRACE], [SPAN], ["x=y"])
    assert row["Links.Attributes"] == [{"a": "1"}]


def test_flags_and_dropped_counts_are_kept() -> None:
    """What the Collector's exporter loses is kept, since lost evidence must be known."""
    counts = {"dropped_attributes_count": 1, "dropped_events_count": 2, "dropped_links_count": 3}
    row = only(from_proto(proto_span(flags=0x301, **counts)))
    assert (row["TraceFlags"], row["DroppedAttributes"]) == (0x301, 1)
    assert (row["DroppedEvents"], row["DroppedLinks"]) == (2, 3)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not valid JSON"),
        (b'{"resourceSpans":[', "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[]", "a list and not an object"),
        (b'{"resourceSpans":{}}', "resourceSpans: a list is needed"),
        (b'{"resourceSpans":[7]}', r"resourceSpans[0]: an object is needed"),
        (b'{"resourceSpans":' + b"[" * 100_000, "nested too deep"),
    ],
)
def test_json_that_is_no_request_is_refused_with_the_place(body: bytes, said: str) -> None:
    """The sender learns where and why; nothing else happens."""
    refused = refusal(body)
    assert said in refused.message
    assert refused.reason is Reason.INVALID


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"startTimeUnixNano": "-1"}, "outside 0"),
        ({"startTimeUnixNano": "soon"}, "startTimeUnixNano: an integer is needed"),
        ({"startTimeUnixNano": " 5 "}, "an integer is needed"),
        ({"startTimeUnixNano": "1_000"}, "an integer is needed"),
        ({"startTimeUnixNano": "\uff11\uff12"}, "an integer is needed"),
        ({"startTimeUnixNano": "+5"}, "an integer is needed"),
        ({"parentSpanId": "zz"}, "ids are hexadecimal"),
        ({"events": [{"timeUnixNano": -1}]}, "events[0].timeUnixNano"),
        ({"startTimeUnixNano": "9" * 5000}, "startTimeUnixNano"),
        ({"startTimeUnixNano": 1.5}, "an integer is needed"),
        ({"name": 7}, "a string is needed"),
        ({"attributes": [{"key": "k", "value": {"boolValue": 1}}]}, "true or false is needed"),
        ({"attributes": [{"key": "k", "value": {"doubleValue": "inf"}}]}, "a number is needed"),
        ({"attributes": [{"key": "k", "value": {"bytesValue": "*"}}]}, "bytesValue"),
        ({"flags": 2**32}, "outside 0"),
    ],
)
def test_a_span_with_a_value_that_does_not_fit_is_refused_alone(change: dict[str, Any], said: str) -> None:
    """The field is named, and the good spans of the same request are kept, before and behind the bad one."""
    result = from_json(json_span(), json_span(**change), json_span(spanId="a" * 16))
    assert [row[2] for row in result.rows] == [SPAN, "a" * 16]
    assert result.refused.total() == 1
    assert said in result.message


@pytest.mark.parametrize("span", [5, "x", [], [{}]])
def test_what_is_no_span_is_refused_alone(span: Any) -> None:
    """A span that is no object is counted like a bad one."""
    result = from_json(json_span(), span)
    assert (len(result.rows), result.refused.total()) == (1, 1)


def test_deep_values_are_refused_and_not_a_crash() -> None:
    """A value nested hundreds of levels deep ends in a refusal."""
    value: dict[str, Any] = {"intValue": 1}
    for _ in range(150):
        value = {"arrayValue": {"values": [value]}}
    deep = json_span(attributes=[{"key": "k", "value": value}])
    assert "nested deeper" in from_json(json_span(), deep).message


def test_json_of_which_no_span_can_be_read_is_refused_whole() -> None:
    """A sender that gets the encoding wrong everywhere hears it as an error; ids of zeros are still read."""
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%s]}]}]}'
    unreadable = refusal(body % json.dumps(json_span(kind="SPAN_KIND_CLIENT")).encode())
    assert (unreadable.reason, "enums are integers" in unreadable.message) == (Reason.INVALID, True)
    assert from_json(json_span(traceId="0" * 32)).refused.total() == 1


def test_json_is_utf_8() -> None:
    """A byte order mark is fine; other encodings, in which the limits could not count, are refused."""
    body = json.dumps({"resourceSpans": []})
    assert rows_of(b"\xef\xbb\xbf" + body.encode(), Encoding.JSON).rows == []
    assert refusal(body.encode("utf-16")).reason is Reason.INVALID


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    """Half a surrogate pair is legal JSON and no legal text; the rest of the name survives."""
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%s]}]}]}' % json.dumps(json_span(name="a\ud83db")).encode()
    assert only(rows_of(body, Encoding.JSON))["SpanName"] == "a\ufffdb"


def test_protobuf_of_the_future_and_without_spans() -> None:
    """Unknown protobuf fields are skipped, and an empty body is an empty request."""
    unknown = struct.pack("BB", 99 << 3 & 0x7F | 0x80 | 2, 99 << 3 >> 7) + b"\x03abc"
    assert len(rows_of(proto_body(proto_span()) + unknown, Encoding.PROTOBUF).rows) == 1
    assert rows_of(b"", Encoding.PROTOBUF).rows == []


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_truncated_protobuf_is_refused(cut: int) -> None:
    """A body that ends too early is no request."""
    refused = refusal(proto_body(proto_span())[:-cut], Encoding.PROTOBUF)
    assert refused.reason is Reason.INVALID


def test_a_value_from_a_string_table_is_empty() -> None:
    """References into a string table have no meaning in traces."""
    span = proto_span(attributes=[KeyValue(key="k", value=AnyValue(string_value_strindex=3))])
    assert only(from_proto(span))["SpanAttributes"] == {"k": ""}


def scalars() -> st.SearchStrategy[AnyValue]:
    """Attribute values without parts."""
    return st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])).map(lambda value: AnyValue(string_value=value)),
        st.booleans().map(lambda value: AnyValue(bool_value=value)),
        st.integers(-(2**63), 2**63 - 1).map(lambda value: AnyValue(int_value=value)),
        st.floats().map(lambda value: AnyValue(double_value=value)),
        st.binary().map(lambda value: AnyValue(bytes_value=value)),
        st.just(AnyValue()),
    )


def composites(parts: st.SearchStrategy[AnyValue]) -> st.SearchStrategy[AnyValue]:
    """Lists and maps of values."""
    pairs = st.dictionaries(st.text("abc"), parts, max_size=3)
    return st.one_of(
        st.lists(parts, max_size=3).map(lambda items: AnyValue(array_value=ArrayValue(values=items))),
        pairs.map(
            lambda items: AnyValue(
                kvlist_value=KeyValueList(values=[KeyValue(key=k, value=v) for k, v in items.items()])
            )
        ),
    )


def as_otlp_json(value: AnyValue) -> dict[str, Any]:
    """The same value in OTLP/JSON, written out independently of the decoder."""
    import base64

    kind = value.WhichOneof("value")
    if kind == "array_value":
        return {"arrayValue": {"values": [as_otlp_json(item) for item in value.array_value.values]}}
    if kind == "kvlist_value":
        pairs = [{"key": item.key, "value": as_otlp_json(item.value)} for item in value.kvlist_value.values]
        return {"kvlistValue": {"values": pairs}}
    if kind == "int_value":
        return {"intValue": str(value.int_value)}
    if kind == "bytes_value":
        return {"bytesValue": base64.b64encode(value.bytes_value).decode()}
    if kind == "double_value" and not math.isfinite(value.double_value):
        return {"doubleValue": float_text(value.double_value)}
    names = {"string_value": "stringValue", "bool_value": "boolValue", "double_value": "doubleValue"}
    return {names[kind]: getattr(value, kind)} if kind else {}


@given(st.recursive(scalars(), composites, max_leaves=8))
def test_both_encodings_give_the_same_row(value: AnyValue) -> None:
    """Whatever the value, JSON and protobuf store the same text."""
    proto = only(from_proto(proto_span(attributes=[KeyValue(key="key", value=value)])))["SpanAttributes"]
    assert proto == {"key": attribute(as_otlp_json(value))}


@given(st.floats(allow_nan=False))
def test_the_text_of_a_float_reads_back_the_same(value: float) -> None:
    """No digit of a float is lost in its text."""
    assert float(float_text(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e20, "100000000000000000000"), (1e21, "1e+21"), (1.5e-5, "0.000015"), (-2e-6, "-0.000002"), (1.5e-7, "1.5e-7")],
)
def test_floats_change_to_exponents_where_json_numbers_of_others_do(value: float, text: str) -> None:
    """The text is the one that Go writes, so that equal values are equal strings whoever stored them."""
    assert float_text(value) == text


def counted(message: Any) -> int:
    """How many messages are inside a message."""
    total = 0
    for descriptor, value in message.ListFields():
        if descriptor.message_type:
            items = list(value) if descriptor.is_repeated else [value]
            total += sum(1 + counted(item) for item in items)
    return total


@given(st.lists(st.lists(st.recursive(scalars(), composites, max_leaves=5), max_size=4), max_size=4))
def test_messages_are_counted_exactly(spans: list[list[AnyValue]]) -> None:
    """A request passes a limit of its own size and not one less, whatever its text looks like."""
    pairs = [[KeyValue(key=str(i), value=value) for i, value in enumerate(values)] for values in spans]
    body = proto_body(*(proto_span(attributes=items, status=Status(code=2)) for items in pairs))
    size = counted(ExportTraceServiceRequest.FromString(body))
    shape.check_protobuf(body, size)
    with pytest.raises(Refusal, match=f"more than {size - 1} messages"):
        shape.check_protobuf(body, size - 1)


def test_json_values_are_counted_outside_of_text_only() -> None:
    """Commas and brackets inside of strings are text, also behind an escaped quote."""
    shape.check_json(json.dumps({"a": 'x",[{' * 50}).encode(), 5)
    with pytest.raises(Refusal, match="more than 5 JSON values"):
        shape.check_json(b"[[],[],[],[]]", 5)


def test_too_many_spans_are_refused() -> None:
    """The number of spans in one request is bounded."""
    refused = refusal(proto_body(*[Span()] * 100_001), Encoding.PROTOBUF)
    assert refused.reason is Reason.TOO_LARGE
    assert "100001 spans" in refused.message
