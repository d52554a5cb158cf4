from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, cast

import grpc
import httpx
import pytest
from google.protobuf import json_format
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from tests.conformance.cases import CASES, FIXTURES, JSON, PROTOBUF, Case, trace_of
from tests.support.migrated import made_store

from overclaim_collector.config import ServeConfig
from overclaim_collector.otlp.signals import TRACES
from overclaim_collector.server import Server
from overclaim_detectors.runner import detect_once

COLUMNS = (
    "TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName, ResourceAttributes, SpanAttributes, Duration,"
    " StatusCode, StatusMessage, Events.Name, Events.Attributes, Links.TraceId, Links.SpanId,"
    " toUnixTimestamp64Nano(Timestamp) AS Start"
)
BY_TRACE = f"SELECT {COLUMNS} FROM otel_traces WHERE TraceId = {{trace:String}} ORDER BY SpanId DESC"  # noqa: S608
BY_SERVICE = "SELECT count() FROM otel_traces WHERE ServiceName = {service:String}"
ELSEWHERE = [case for case in CASES if not case.only_as_sent]
IN_PROTOBUF = [case for case in ELSEWHERE if case.media_type == JSON]
OVER_GRPC = [case for case in ELSEWHERE if not case.packed]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server on free ports with a store of its own."""
    store = f"chdb://{made_store(tmp_path_factory.mktemp('conformance'))}"
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False)) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    """An HTTP client on the server."""
    with httpx.Client(base_url=server.addresses.http, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def channel(server: Server) -> Iterator[grpc.Channel]:
    """A gRPC connection to the server."""
    with grpc.insecure_channel(server.addresses.grpc) as opened:
        yield opened


def with_base64_ids(value: Any) -> Any:
    """OTLP/JSON as protobuf's own JSON mapping has it."""
    if isinstance(value, list):
        return [with_base64_ids(item) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode() if key in ids and item else with_base64_ids(item)
        for key, item in cast(dict[str, Any], value).items()
    }


def protobuf_of(case: Case) -> bytes:
    """The request of a case in plain protobuf, by protobuf's own reader of JSON."""
    if case.media_type == PROTOBUF:
        return case.body
    data = with_base64_ids(json.loads(case.body))
    return json_format.ParseDict(data, ExportTraceServiceRequest(), ignore_unknown_fields=True).SerializeToString()


def moved(body: bytes, case: Case, transport: str) -> tuple[bytes, str]:
    """The same protobuf request in a trace of its own, so that it is no repetition."""
    trace = trace_of(f"{case.name} over {transport}")
    return body.replace(bytes.fromhex(trace_of(case.name)), bytes.fromhex(trace)), trace


def post(http: httpx.Client, body: bytes, media_type: str, packed: str) -> httpx.Response:
    """Send a request over HTTP; whatever the answer is, it has the type of the request."""
    headers = {"content-type": media_type, **({"content-encoding": packed} if packed else {})}
    answer = http.post(TRACES.path, content=body, headers=headers)
    assert answer.headers["content-type"] == media_type
    return answer


def read(answer: httpx.Response, kind: Any) -> Any:
    """The message in an answer."""
    if answer.headers["content-type"] == JSON:
        return json_format.Parse(answer.text, kind())
    return kind.FromString(answer.content)


def assert_answered(case: Case, response: Any) -> None:
    """The partial success that it must have, or none."""
    assert response.HasField("partial_success") == bool(case.said)
    assert response.partial_success.rejected_spans == case.rejected
    assert case.said in response.partial_success.error_message


def assert_stored(server: Server, case: Case, trace: str) -> None:
    """Exactly the rows that it must have."""
    rows = server.store.query(BY_TRACE, {"trace": trace}).dicts()
    assert [{key: row[key] for key in wanted} for row, wanted in zip(rows, case.rows, strict=True)] == list(case.rows)
    if not case.rows:
        assert server.store.query(BY_SERVICE, {"service": case.name}).rows == [(0,)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fixture_over_http(server: Server, http: httpx.Client, case: Case) -> None:
    """The request as its file has it: status, body of the answer and rows in the store are what OTLP asks for."""
    answer = post(http, case.file.read_bytes(), case.media_type, case.packed)
    assert answer.status_code == case.status
    if case.status == 200:
        assert_answered(case, read(answer, ExportTraceServiceResponse))
    else:
        status = read(answer, Status)
        assert status.code == {400: 3, 413: 8}[case.status]
        assert case.said in status.message
    assert_stored(server, case, trace_of(case.name))


@pytest.mark.parametrize("case", IN_PROTOBUF, ids=lambda case: case.name)
def test_a_fixture_in_protobuf_over_http(server: Server, http: httpx.Client, case: Case) -> None:
    """What is written in JSON means the same in protobuf."""
    body, trace = moved(protobuf_of(case), case, "protobuf")
    answer = post(http, body, PROTOBUF, "")
    assert answer.status_code == case.status
    assert_answered(case, read(answer, ExportTraceServiceResponse))
    assert_stored(server, case, trace)


@pytest.mark.parametrize("case", OVER_GRPC, ids=lambda case: case.name)
def test_a_fixture_over_grpc(server: Server, channel: grpc.Channel, case: Case) -> None:
    """The answer to the same request says the same over gRPC."""
    body, trace = moved(protobuf_of(case), case, "grpc")
    call: Any = channel.unary_unary(f"/{TRACES.service}/Export")
    if case.status == 200:
        assert_answered(case, ExportTraceServiceResponse.FromString(call(body)))
    else:
        with pytest.raises(grpc.RpcError) as caught:
            call(body)
        failed: Any = caught.value
        assert failed.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert case.said in failed.details()
    assert_stored(server, case, trace)


def test_the_calls_in_the_fixtures_are_observed_as_failures(server: Server, http: httpx.Client) -> None:
    """Six dialects of a failed tool call, most with a span that is not marked: the detectors see through all."""
    wanted = {trace_of(case.name): case.outcome for case in CASES if case.outcome}
    for case in CASES:
        if case.outcome:
            post(http, case.file.read_bytes(), case.media_type, case.packed)
    detect_once(server.store)
    sql = "SELECT TraceId, Observed FROM overclaim_calls FINAL WHERE TraceId IN {traces:Array(String)}"
    assert len(wanted) == 6
    assert dict(server.store.query(sql, {"traces": list(wanted)}).rows) == wanted


def test_the_files_are_those_of_the_generator() -> None:
    """`python -m tests.conformance.cases` writes what is there; only what compression makes of it may differ."""
    assert {path.name for path in FIXTURES.iterdir()} == {case.file.name for case in CASES}
    for case in CASES:
        assert case.packed or case.file.read_bytes() == case.body, case.name
