"""What a conformant OTLP server makes of each request here. `python -m tests.conformance.cases` writes the fixtures."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

FIXTURES = Path(__file__).with_name("fixtures")
PROTOBUF, JSON = "application/x-protobuf", "application/json"
START, END = 1_796_000_000_000_000_001, 1_796_000_001_500_000_002
SPAN_ID, PARENT_ID, OTHER_ID = "eee19b7ec3c1b174", "eee19b7ec3c1b173", "aaaaaaaaaaaaaaaa"
ROW = {"SpanId": SPAN_ID, "SpanName": "execute_tool http_get", "Duration": END - START, "StatusCode": "Unset"}


@dataclass(frozen=True)
class Case:
    """A request, and what comes of it.

    said: part of the message in the answer; empty where there must be no partial_success at all. rejected: its count.
    rows: fields of what is stored, one for each span. outcome: what the detectors must observe of the call.
    only_as_sent: its point is in the encoding, so it makes no sense in another one.
    """

    name: str
    body: bytes
    media_type: str
    packed: str = ""
    status: int = 200
    said: str = ""
    rejected: int = 0
    rows: tuple[dict[str, Any], ...] = ()
    outcome: str = ""
    only_as_sent: bool = False

    @property
    def file(self) -> Path:
        """Where its fixture is."""
        return FIXTURES / f"{self.name}.{'json' if self.media_type == JSON else 'pb'}"


def trace_of(name: str) -> str:
    """The trace id of a case."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def span(**changes: Any) -> dict[str, Any]:
    """A good span, with some fields changed; its trace id is filled in later."""
    times = {"startTimeUnixNano": str(START), "endTimeUnixNano": str(END)}
    return {"spanId": SPAN_ID, "name": "execute_tool http_get", "kind": 1, **times, **changes}


def attribute(key: str, **value: Any) -> dict[str, Any]:
    """An attribute in OTLP/JSON."""
    return {"key": key, "value": value}


def attributes(**texts: str) -> list[dict[str, Any]]:
    """Attributes with texts; two underscores stand for a dot."""
    return [attribute(key.replace("__", "."), stringValue=text) for key, text in texts.items()]


def request(name: str, *spans: dict[str, Any], scope: str = "overclaim") -> dict[str, Any]:
    """A request with these spans, of the service that has the name of the case."""
    items = [{"traceId": trace_of(name), **item} for item in spans]
    resource = {"attributes": attributes(service__name=name)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": scope}, "spans": items}]}]}


def in_json(name: str, *spans: dict[str, Any], scope: str = "overclaim", **expected: Any) -> Case:
    """A case with spans in JSON; unless told otherwise its one span is stored."""
    body = json.dumps(request(name, *spans, scope=scope), indent=1).encode()
    return Case(name, body, JSON, **{"rows": (ROW,), **expected})


def changed(name: str, change: Callable[[dict[str, Any]], Any], **expected: Any) -> Case:
    """A case with one span in JSON, of which `change` changes the request."""
    data = request(name, span())
    change(data)
    return Case(name, json.dumps(data, indent=1).encode(), JSON, **{"rows": (ROW,), **expected})


def raw(name: str, body: bytes, **expected: Any) -> Case:
    """A case with a JSON body as it stands."""
    return Case(name, body, JSON, only_as_sent=True, **expected)


def in_protobuf(name: str, change: Callable[[bytes], bytes] = bytes, **expected: Any) -> Case:
    """A case with one span in protobuf, of which `change` changes the bytes."""
    message = ExportTraceServiceRequest()
    one = Span(trace_id=bytes.fromhex(trace_of(name)), span_id=bytes.fromhex(SPAN_ID), name="execute_tool a")
    one.start_time_unix_nano, one.end_time_unix_nano = START, END
    message.resource_spans.add().scope_spans.add(spans=[one])
    rows = ({"SpanId": SPAN_ID, "SpanName": "execute_tool a", "ServiceName": ""},)
    return Case(name, change(message.SerializeToString()), PROTOBUF, **{"rows": rows, **expected})


def _with_unknown_keys(data: dict[str, Any]) -> None:
    one = data["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    one["attributes"] = [{"key": "a", "value": {"stringValue": "x", "newKind": 1}, "newKey": 0}]
    one["newField"] = {"deep": [1]}
    data["newTop"] = 1


def _with_nulls(data: dict[str, Any]) -> None:
    scope = data["resourceSpans"][0]["scopeSpans"][0]
    scope["scope"] = data["resourceSpans"][0]["resource"] = None
    scope["spans"][0].update(attributes=None, status=None, parentSpanId=None, events=None)


def _with_table_index(body: bytes) -> bytes:
    message = ExportTraceServiceRequest.FromString(body)
    one = message.resource_spans[0].scope_spans[0].spans[0]
    one.attributes.add(key="p", value=AnyValue(string_value_strindex=3))
    return message.SerializeToString()


_VALUES = [
    attribute("text", stringValue=""),
    attribute("flag", boolValue=False),
    attribute("int", intValue="0"),
    attribute("double", doubleValue=0),
    attribute("nan", doubleValue="NaN"),
    attribute("infinite", doubleValue="-Infinity"),
    attribute("bytes", bytesValue="AAE="),
    attribute("list", arrayValue={"values": [{"stringValue": "x"}, {"intValue": "1"}, {}]}),
    attribute("map", kvlistValue={"values": [attribute("k", arrayValue={"values": []})]}),
    {"key": "empty", "value": {}},
    {"key": "none"},
]
_VALUE_TEXTS = {
    "text": "",
    "flag": "false",
    "int": "0",
    "double": "0",
    "nan": "NaN",
    "infinite": "-Infinity",
    "bytes": "AAE=",
    "list": '["x",1,null]',
    "map": '{"k":[]}',
    "empty": "",
    "none": "",
}
_EXACT = {**ROW, "Start": START, "SpanAttributes": {"n": "9007199254740993"}}
_EVENT = {"timeUnixNano": str(START + 5), "name": "exception", "attributes": attributes(exception__type="HTTPError")}
_TOOL = attributes(gen_ai__operation__name="execute_tool", gen_ai__tool__name="http_get", gen_ai__tool__type="function")
_FAILED = {"outcome": "failure"}

ENCODING = [
    in_json("ids-uppercase-hex", span(spanId=SPAN_ID.upper(), traceId=trace_of("ids-uppercase-hex").upper())),
    in_json("ints-as-strings", span(attributes=[attribute("n", intValue="9007199254740993")]), rows=(_EXACT,)),
    in_json(
        "ints-as-numbers",
        span(startTimeUnixNano=START, attributes=[attribute("n", intValue=9007199254740993)]),
        rows=(_EXACT,),
    ),
    changed("unknown-fields-everywhere", _with_unknown_keys, rows=({**ROW, "SpanAttributes": {"a": "x"}},)),
    raw("snake-case-keys-ignored", b'{"resource_spans": [{"scope_spans": [{"spans": [{"name": "x"}]}]}]}'),
    in_json(
        "enum-name-string-rejected",
        span(kind="SPAN_KIND_SERVER"),
        status=400,
        said="kind: enums are integers",
        rows=(),
        only_as_sent=True,
    ),
    in_json(
        "enum-unknown-number",
        span(kind=99, status={"code": 2}),
        rows=({**ROW, "SpanKind": "Unspecified", "StatusCode": "Error"},),
    ),
    raw("empty-object", b"{}"),
    raw("empty-envelopes", b'{"resourceSpans": [{"scopeSpans": [{"spans": []}]}, {}]}'),
    changed("null-fields", _with_nulls, rows=({**ROW, "ServiceName": ""},)),
    in_json("all-any-values", span(attributes=_VALUES), rows=({**ROW, "SpanAttributes": _VALUE_TEXTS},)),
    raw("bad-json", b'{"resourceSpans":[', status=400, said="not valid JSON"),
    in_json("utf8-surrogate", span(name="\ud83d"), rows=({**ROW, "SpanName": "\ufffd"},), only_as_sent=True),
    in_json(
        "span-id-base64",
        span(spanId="7uGbfsPBsXQ="),
        status=400,
        said="spanId: ids are hexadecimal",
        rows=(),
        only_as_sent=True,
    ),
]
SPANS = [
    in_json("trace-id-short", span(traceId="abcd"), rejected=1, said="trace id of 2 bytes", rows=()),
    in_json("trace-id-zero", span(traceId="0" * 32), rejected=1, said="trace id of zeros", rows=()),
    in_json("trace-id-empty", span(traceId=""), rejected=1, said="trace id of 0 bytes", rows=()),
    in_json(
        "mixed-valid-invalid",
        span(),
        span(spanId="0" * 16),
        span(spanId=OTHER_ID),
        rejected=1,
        said="span id of zeros",
        rows=(ROW, {**ROW, "SpanId": OTHER_ID}),
    ),
    in_json(
        "end-before-start",
        span(endTimeUnixNano=str(START - 1)),
        said="end before start",
        rows=({**ROW, "Start": START, "Duration": 0},),
    ),
    in_json(
        "start-zero", span(startTimeUnixNano="0"), said="no start time", rows=({**ROW, "Start": END, "Duration": 0},)
    ),
    in_json("far-future", span(startTimeUnixNano=str(2**64 - 1)), rejected=1, said="after the year 2262", rows=()),
    in_json(
        "duplicate-attribute-keys",
        span(attributes=attributes(a="1") + attributes(a="2")),
        rows=({**ROW, "SpanAttributes": {"a": "2"}},),
    ),
    changed(
        "no-service-name",
        lambda data: data["resourceSpans"][0].update(resource={"attributes": attributes(x="y")}),
        rows=({**ROW, "ServiceName": "", "ResourceAttributes": {"x": "y"}},),
    ),
    in_json(
        "status-ok-with-message",
        span(status={"code": 1, "message": "fine"}),
        rows=({**ROW, "StatusCode": "Ok", "StatusMessage": "fine"},),
    ),
    in_json("root-span", span(parentSpanId=""), rows=({**ROW, "ParentSpanId": ""},)),
    in_json("duplicate-span-twice", span(), span(), rows=(ROW, ROW)),
    in_json(
        "link-and-event",
        span(events=[_EVENT], links=[{"traceId": trace_of("linked"), "spanId": PARENT_ID}]),
        rows=(
            {
                **ROW,
                "Events.Name": ["exception"],
                "Events.Attributes": [{"exception.type": "HTTPError"}],
                "Links.TraceId": [trace_of("linked")],
                "Links.SpanId": [PARENT_ID],
            },
        ),
    ),
]
CALLS = [
    in_json(
        "genai-tool-error",
        span(status={"code": 2, "message": "400"}, attributes=_TOOL + attributes(error__type="400")),
        rows=({**ROW, "StatusCode": "Error", "StatusMessage": "400"},),
        **_FAILED,
    ),
    in_json(
        "genai-tool-silent-400",
        span(
            attributes=[
                *_TOOL,
                attribute(
                    "gen_ai.tool.call.result", kvlistValue={"values": [attribute("status_code", intValue="400")]}
                ),
            ]
        ),
        **_FAILED,
    ),
    in_json(
        "genai-bash-exit-1",
        span(
            attributes=[
                *attributes(gen_ai__operation__name="execute_tool", gen_ai__tool__name="bash"),
                *attributes(process__executable__name="false"),
                attribute("process.exit.code", intValue="1"),
            ]
        ),
        **_FAILED,
    ),
    in_json(
        "mcp-tool-error",
        span(
            name="tools/call get_weather",
            kind=3,
            status={"code": 2},
            attributes=attributes(
                mcp__method__name="tools/call",
                gen_ai__operation__name="execute_tool",
                gen_ai__tool__name="get_weather",
                error__type="tool_error",
            ),
        ),
        rows=({**ROW, "SpanName": "tools/call get_weather", "SpanKind": "Client", "StatusCode": "Error"},),
        **_FAILED,
    ),
    in_json(
        "openinference-tool-ok-autoset",
        span(
            status={"code": 1},
            attributes=attributes(
                openinference__span__kind="TOOL",
                tool__name="http_get",
                input__value='{"url": "x"}',
                output__value='{"status": 400}',
            ),
        ),
        scope="openinference.instrumentation.langchain",
        rows=({**ROW, "StatusCode": "Ok"},),
        **_FAILED,
    ),
    in_json(
        "traceloop-tool",
        span(
            attributes=attributes(
                traceloop__span__kind="tool",
                traceloop__entity__name="http_get",
                traceloop__entity__input='{"args": []}',
                traceloop__entity__output='"HTTP 400"',
            )
        ),
        **_FAILED,
    ),
]
BINARY = [
    in_protobuf("minimal"),
    in_protobuf("empty", lambda _: b"", rows=()),
    in_protobuf("unknown-field", lambda body: body + b"\xfa\x07\x03abc"),
    in_protobuf("truncated", lambda body: body[:-3], status=400, said="not a protobuf", rows=()),
    in_protobuf("gzip", lambda body: gzip.compress(body, mtime=0), packed="gzip"),
    in_protobuf(
        "gzip-corrupt",
        lambda body: gzip.compress(body, mtime=0)[:-6] + b"xxxxxx",
        packed="gzip",
        status=400,
        said="not valid gzip",
        rows=(),
    ),
    in_protobuf(
        "gzip-bomb",
        lambda _: gzip.compress(b"\x0a" + bytes(70_000_000), mtime=0),
        packed="gzip",
        status=413,
        said="uncompressed",
        rows=(),
    ),
    in_protobuf(
        "profiles-strindex-value",
        _with_table_index,
        rows=({"SpanName": "execute_tool a", "SpanAttributes": {"p": ""}},),
    ),
]
CASES = [*ENCODING, *SPANS, *CALLS, *BINARY]


def main() -> None:
    """Write the fixtures."""
    FIXTURES.mkdir(exist_ok=True)
    for case in CASES:
        case.file.write_bytes(case.body)
    print(len(CASES), "fixtures")


if __name__ == "__main__":
    main()
