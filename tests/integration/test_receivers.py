from __future__ import annotations

import gzip
import json
import os
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from otlp_rows import rows_of
from tests.support.migrated import made_store

from overclaim_collector.config import ServeConfig
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.spans import COLUMNS
from overclaim_collector.receivers.inflate import zstd
from overclaim_collector.server import Server
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import QueryError

PROTOBUF, JSON = "application/x-protobuf", "application/json"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server on free ports with a store of its own."""
    store = f"chdb://{made_store(tmp_path_factory.mktemp('receivers'))}"
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False, durability="os")) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    """An HTTP client on the server."""
    with httpx.Client(base_url=server.addresses.http, trust_env=False, timeout=20) as client:
        yield client


@pytest.fixture
def export(server: Server) -> Iterator[grpc.UnaryUnaryMultiCallable[bytes, bytes]]:
    """The gRPC method, on bytes."""
    with grpc.insecure_channel(server.addresses.grpc) as channel:
        yield channel.unary_unary(EXPORT)


def spans(count: int, **changes: Any) -> list[Span]:
    """Good spans of one new trace."""
    trace = os.urandom(16)
    start = 1_790_000_000_000_000_000
    given = {"name": "step", "start_time_unix_nano": start, "end_time_unix_nano": start, **changes}
    return [Span(**{"trace_id": trace, "span_id": os.urandom(8), **given}) for _ in range(count)]


def body_of(items: Sequence[Span]) -> bytes:
    """A protobuf request with these spans."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add(spans=items)
    return request.SerializeToString()


def stored(server: Server, trace_id: bytes) -> int:
    """How many rows a trace has in the store."""
    sql = "SELECT count() FROM otel_traces WHERE TraceId = {trace:String}"
    return server.store.query(sql, {"trace": trace_id.hex()}).rows[0][0]


def exporters(server: Server) -> dict[str, SpanExporter]:
    """The stock exporters in all their ways of sending."""
    url, grpc_url = f"{server.addresses.http}/v1/traces", f"http://{server.addresses.grpc}"
    return {
        "http": HttpExporter(endpoint=url),
        "http-gzip": HttpExporter(endpoint=url, compression=Compression.Gzip),
        "http-deflate": HttpExporter(endpoint=url, compression=Compression.Deflate),
        "grpc": GrpcExporter(endpoint=grpc_url, insecure=True),
        "grpc-gzip": GrpcExporter(endpoint=grpc_url, insecure=True, compression=grpc.Compression.Gzip),
    }


@pytest.mark.parametrize("kind", ["http", "http-gzip", "http-deflate", "grpc", "grpc-gzip"])
def test_stock_exporters_deliver_every_span_exactly_once(server: Server, kind: str) -> None:
    """Fifteen hundred spans through a stock exporter are fifteen hundred rows."""
    provider = TracerProvider(resource=Resource({"service.name": f"svc-{kind}"}))
    chosen = exporters(server)
    provider.add_span_processor(BatchSpanProcessor(chosen.pop(kind)))
    for unused in chosen.values():
        unused.shutdown()
    sent = set()
    for number in range(1500):
        with provider.get_tracer("test").start_as_current_span(f"step {number}") as span:
            sent.add(f"{span.get_span_context().span_id:016x}")
    provider.shutdown()
    sql = "SELECT SpanId FROM otel_traces WHERE ServiceName = {service:String}"
    rows = server.store.query(sql, {"service": f"svc-{kind}"}).rows
    assert len(rows) == 1500
    assert {span_id for (span_id,) in rows} == sent


class Recorder:
    """Another OTLP endpoint, which keeps the bodies it is sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Be quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_the_same_spans_reach_a_second_endpoint_unchanged(server: Server) -> None:
    """Beside an existing stack: both get the same spans with the same content."""
    other = Recorder()
    provider = TracerProvider(resource=Resource({"service.name": "svc-both"}))
    for url in (f"{server.addresses.http}/v1/traces", other.url):
        provider.add_span_processor(BatchSpanProcessor(HttpExporter(endpoint=url)))
    for number in range(20):
        attributes = {"n": number, "f": number / 3, "ok": True, "list": ["a", "b"]}
        with provider.get_tracer("test", "1").start_as_current_span("step", attributes=attributes) as span:
            span.add_event("event", {"number": number})
    provider.shutdown()
    other.stop()
    theirs = [row for body in other.bodies for row in rows_of(body, Encoding.PROTOBUF).rows]
    times = "toUnixTimestamp64Nano(Timestamp), arrayMap(t -> toUnixTimestamp64Nano(t), Events.Timestamp)"
    plain = ["TraceId", "SpanId", "SpanName", "ServiceName", "SpanAttributes", "Duration", "Events.Name"]
    ours = server.store.query(f"SELECT {times}, {', '.join(plain)} FROM otel_traces WHERE ServiceName = 'svc-both'")  # noqa: S608
    places = [COLUMNS.index(name) for name in ("Timestamp", "Events.Timestamp", *plain)]
    assert len(theirs) == 20
    assert sorted(str(tuple(row[i] for i in places)) for row in theirs) == sorted(map(str, ours.rows))


PACKERS: dict[str, Any] = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstd.compress}


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "deflate", "zstd", "GZIP"])
def test_content_encodings(server: Server, http: httpx.Client, encoding: str) -> None:
    """Plain and packed bodies are read; the answer is empty protobuf of the same type."""
    items = spans(2)
    packed = PACKERS.get(encoding.lower(), bytes)(body_of(items))
    headers = {"content-type": PROTOBUF, "content-encoding": encoding}
    answer = http.post("/v1/traces", content=packed, headers=headers)
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, b"", PROTOBUF)
    assert stored(server, items[0].trace_id) == 2


def test_json_requests_with_parameters_in_the_content_type(server: Server, http: httpx.Client) -> None:
    """A charset parameter does not make JSON something else; the answer is an empty JSON object."""
    trace = os.urandom(16)
    times = {"startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000000000000001"}
    span = {"traceId": trace.hex(), "spanId": os.urandom(8).hex(), "name": "s", **times}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    answer = http.post("/v1/traces", content=json.dumps(body), headers=headers)
    assert (answer.status_code, answer.json(), answer.headers["content-type"]) == (200, {}, JSON)
    assert stored(server, trace) == 1


def test_partial_success_over_http_and_grpc(
    server: Server, http: httpx.Client, export: grpc.UnaryUnaryMultiCallable[bytes, bytes]
) -> None:
    """Bad spans are counted in the answer, and the good ones of the same request are stored."""
    for number, send in enumerate(
        [
            lambda body: http.post("/v1/traces", content=body, headers={"content-type": PROTOBUF}).content,
            export,
        ]
    ):
        good, bad = spans(3), spans(2, span_id=bytes(8), name=f"bad {number}")
        answer = ExportTraceServiceResponse.FromString(send(body_of([*good, *bad])))
        assert answer.partial_success.rejected_spans == 2
        assert "span id of zeros" in answer.partial_success.error_message
        assert stored(server, good[0].trace_id) == 3


def test_partial_success_in_json_has_its_count_as_a_string(http: httpx.Client) -> None:
    """64-bit integers are strings in OTLP/JSON, in answers too."""
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "00", "spanId": "00"}]}]}]}
    answer = http.post("/v1/traces", json=body).json()
    assert answer["partialSuccess"]["rejectedSpans"] == "1"


@pytest.mark.parametrize(
    ("path", "media_type", "body", "status", "code"),
    [
        ("/v1/traces", PROTOBUF, b"\xff\xff", 400, 3),
        ("/v1/traces", JSON, b"{", 400, 3),
        ("/v1development/profiles", PROTOBUF, b"", 404, 12),
        ("/v1/metrics", JSON, b"{}", 404, 12),
    ],
)
def test_refusals_are_statuses_in_the_encoding_of_the_request(
    http: httpx.Client, path: str, media_type: str, body: bytes, status: int, code: int
) -> None:
    """Every refused request gets a google.rpc.Status that its exporter can read."""
    answer = http.post(path, content=body, headers={"content-type": media_type})
    said = answer.json() if media_type == JSON else Status.FromString(answer.content)
    assert (answer.status_code, answer.headers["content-type"]) == (status, media_type)
    assert (said["code"] if media_type == JSON else said.code) == code  # pyright: ignore


def test_wrong_methods_types_and_encodings(http: httpx.Client) -> None:
    """405 for the method, 415 for media type and content encoding."""
    assert http.get("/v1/traces").status_code == 405
    assert http.put("/v1/traces").status_code == 405
    assert http.post("/v1/traces", content=b"").status_code == 415
    assert http.post("/v1/traces", content=b"", headers={"content-type": "text/plain"}).status_code == 415
    odd = http.post("/v1/traces", content=b"", headers={"content-type": PROTOBUF, "content-encoding": "br"})
    assert (odd.status_code, odd.headers["accept-encoding"]) == (415, "gzip, deflate, zstd, identity")
    assert http.post("/nowhere", content=b"").status_code == 404


def test_grpc_refuses_what_it_cannot_read(export: grpc.UnaryUnaryMultiCallable[bytes, bytes]) -> None:
    """Damaged requests are INVALID_ARGUMENT, which no exporter sends again."""
    with pytest.raises(grpc.RpcError) as caught:
        export(b"\xff\xff")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT  # pyright: ignore


def test_empty_requests_succeed(http: httpx.Client, export: grpc.UnaryUnaryMultiCallable[bytes, bytes]) -> None:
    """A request without spans is a success in each form."""
    assert http.post("/v1/traces", content=b"", headers={"content-type": PROTOBUF}).status_code == 200
    assert http.post("/v1/traces", json={}).json() == {}
    assert export(b"") == b""


def test_a_known_field_of_another_wire_type_is_skipped(server: Server, http: httpx.Client) -> None:
    """Protobuf skips it, ClickHouse's own reader does not: the span is stored all the same, and so is its neighbour."""
    items = spans(2)
    odd = items[0].SerializeToString() + b"\x20\x61"  # field 4, the parent's id, as a number
    one = b"\x12" + bytes([len(odd)]) + odd
    body = b"\x0a" + bytes([len(one) + 2]) + b"\x12" + bytes([len(one)]) + one
    answer = http.post("/v1/traces", content=body + body_of(items[1:]), headers={"content-type": PROTOBUF})
    assert (answer.status_code, stored(server, items[0].trace_id)) == (200, 2)


def test_the_same_request_sent_again_is_stored_once(server: Server, http: httpx.Client) -> None:
    """An exporter that did not hear the answer sends the same bytes again; the spans count once."""
    items = spans(10)
    for _ in range(3):
        assert http.post("/v1/traces", content=body_of(items), headers={"content-type": PROTOBUF}).status_code == 200
    assert stored(server, items[0].trace_id) == 10


def test_many_senders_at_once_share_inserts_and_lose_nothing(server: Server, http: httpx.Client) -> None:
    """Requests that arrive together are written together, each is answered, and the balance is exact."""
    counts = server.counts["traces"]
    before, batches = counts.stored, [spans(50) for _ in range(200)]

    def send(items: list[Span]) -> int:
        return http.post("/v1/traces", content=body_of(items), headers={"content-type": PROTOBUF}).status_code

    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(send, batches)) == {200}
    assert server.store  # which has all that was acknowledged
    assert counts.stored - before == 200 * 50
    assert counts.received == counts.stored + counts.repeated + counts.refused
    traces = [items[0].trace_id.hex() for items in batches]
    sql = "SELECT count(), countDistinct(SpanId) FROM otel_traces WHERE TraceId IN {traces:Array(String)}"
    assert server.store.query(sql, {"traces": traces}).rows == [(10_000, 10_000)]


def test_arrivals_are_noted_for_the_detectors(server: Server, http: httpx.Client) -> None:
    """Each insert leaves a line per trace in the inbox, with the store's own time."""
    items = spans(7, start_time_unix_nano=1)
    http.post("/v1/traces", content=body_of(items), headers={"content-type": PROTOBUF})
    sql = "SELECT Spans, Arrived > now() - 60 FROM overclaim_inbox WHERE TraceId = {trace:String}"
    assert server.store.query(sql, {"trace": items[0].trace_id.hex()}).rows == [(7, 1)]


def test_spans_of_any_year_fit_into_one_request(server: Server, http: httpx.Client) -> None:
    """A hundred and ten months in one request are as many partitions, and no error: ClickHouse's own limit is 100."""
    month = 31 * 86_400 * 10**9
    trace = os.urandom(16)
    items = [spans(1, trace_id=trace, start_time_unix_nano=1 + number * month)[0] for number in range(110)]
    assert http.post("/v1/traces", content=body_of(items), headers={"content-type": PROTOBUF}).status_code == 200
    assert stored(server, trace) == 110


def test_health_readiness_and_owner(server: Server, http: httpx.Client) -> None:
    """Probes say that it lives and can store; the owner is this process at this address."""
    health = http.get("/healthz").json()
    assert health["status"] == "ok"
    assert health["spans"]["stored"] == server.counts["traces"].stored
    assert http.get("/readyz").json()["status"] == "ready"
    owner = http.get("/api/owner").json()
    assert (owner["pid"], owner["url"]) == (os.getpid(), server.addresses.http)


def test_other_processes_query_through_the_server(server: Server) -> None:
    """The store opened by the server's address answers with bound values, and says what was wrong."""
    remote = open_store(server.addresses.http)
    assert remote.query("SELECT {a:UInt8} + 1 AS n, {b:String} AS s", {"a": 1, "b": "it's"}).dicts() == [
        {"n": 2, "s": "it's"}
    ]
    assert remote.query(
        "SELECT toDateTime64('2026-01-02 03:04:05.5', 3, 'UTC') AS t, nan, [1, 2], map('k', 'v')"
    ).rows == [("2026-01-02 03:04:05.500", None, [1, 2], {"k": "v"})]
    with pytest.raises(QueryError, match="UNKNOWN_TABLE"):
        remote.query("SELECT * FROM no_such_table")


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-type": "text/plain"}, b'{"sql": "SELECT 1"}', 415),
        ({"content-type": JSON, "host": "evil.example"}, b'{"sql": "SELECT 1"}', 403),
        ({"content-type": JSON}, b"{", 400),
        ({"content-type": JSON}, b'{"sql": 1}', 400),
        ({"content-type": JSON}, b'{"sql": "SELECT 1", "params": []}', 400),
        ({"content-type": JSON}, b'{"sql": "SELECT {x:UInt8}"}', 400),
        ({"content-type": JSON}, b'{"sql": "' + b" " * (1 << 20) + b'"}', 413),
    ],
)
def test_bad_questions_are_refused(http: httpx.Client, headers: dict[str, str], body: bytes, status: int) -> None:
    """Web pages of other sites cannot ask, and malformed questions are answered with the cause."""
    answer = http.post("/api/query", content=body, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]


FOREIGN = [
    "evil.example",
    "127.0.0.1.evil.example",
    "evil.example/127.0.0.1",
    "evil.example@127.0.0.1",
    "127.0.0.1@evil.example",
    "localhost#evil.example",
    "localhost?evil.example",
    "127.0.0.1\t.evil.example",
    "localhost, evil.example",
    "localhost:80:80",
    "[::1].evil.example",
    "xn--localhost-9za",
    "",
]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_that_is_not_this_machines_is_refused(server: Server, http: httpx.Client, host: str) -> None:
    """A web page whose name was made to point here gets nothing: no answers, and no spans in."""
    assert http.post("/api/query", json={"sql": "SELECT 1"}, headers={"host": host}).status_code in (400, 403)
    assert http.get("/api/owner", headers={"host": host}).status_code in (400, 403)
    items = spans(1)
    headers = {"host": host, "content-type": PROTOBUF}
    assert http.post("/v1/traces", content=body_of(items), headers=headers).status_code in (400, 403)
    assert stored(server, items[0].trace_id) == 0


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://localhost.evil.example", "file://localhost"]
)
def test_a_page_of_another_site_is_refused(server: Server, http: httpx.Client, origin: str) -> None:
    """A browser names the site of the page in Origin."""
    assert http.post("/api/query", json={"sql": "SELECT 1"}, headers={"origin": origin}).status_code == 403
    items = spans(1)
    headers = {"origin": origin, "content-type": PROTOBUF}
    assert http.post("/v1/traces", content=body_of(items), headers=headers).status_code == 403
    assert stored(server, items[0].trace_id) == 0


@pytest.mark.parametrize(
    ("host", "query"),
    [
        ("localhost", 200),
        ("LOCALHOST:4318", 200),
        ("127.0.0.9:1", 200),
        ("[::1]:4318", 200),
        ("agent.localhost", 200),
        ("192.168.1.7:4318", 403),
        ("host.docker.internal:4318", 403),
    ],
)
def test_senders_reach_us_by_any_address(server: Server, http: httpx.Client, host: str, query: int) -> None:
    """Spans come in under each loopback name and each address, also from containers; questions only under loopback."""
    items = spans(1)
    headers = {"host": host, "content-type": PROTOBUF}
    assert http.post("/v1/traces", content=body_of(items), headers=headers).status_code == 200
    assert http.post("/api/query", json={"sql": "SELECT 1"}, headers={"host": host}).status_code == query
    assert stored(server, items[0].trace_id) == 1


def test_readiness_does_not_wait_for_questions(server: Server, http: httpx.Client) -> None:
    """While questions take all the time they are given, the server says that it is ready."""
    with ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(http.post, "/api/query", json={"sql": "SELECT sleep(1.5)"}) for _ in range(4)]
        time.sleep(0.3)
        assert http.get("/readyz").status_code == 200
        assert not any(asked.done() for asked in slow)
        assert {asked.result().status_code for asked in slow} == {200}
