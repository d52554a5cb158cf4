from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import httpx
import pytest
from endpoints import Answer, Endpoint, endpoint
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from tests.support.migrated import made_store

from overclaim._errors import InputError
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server

UNKNOWN_FIELD = b"\xfa\x7f"  # which nobody knows yet; a length and content follow
PROTOBUF, JSON = "application/x-protobuf", "application/json"


def spans(count: int, name: str = "s") -> bytes:
    """A protobuf request with good spans of a new trace."""
    message, now = ExportTraceServiceRequest(), time.time_ns()
    times = {"start_time_unix_nano": now, "end_time_unix_nano": now}
    items = [Span(trace_id=os.urandom(16), span_id=os.urandom(8), name=name, **times) for _ in range(count)]
    message.resource_spans.add().scope_spans.add(spans=items)
    return message.SerializeToString()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Endpoint]]:
    """A server that forwards, and the endpoint that it forwards to, which says 503 to the first requests."""
    store = f"chdb://{made_store(tmp_path_factory.mktemp('forward'))}"
    with endpoint(answer=lambda n: Answer(503 if n < 2 else 200)) as other:
        config = ServeConfig(
            store=store,
            http_port=0,
            grpc_port=0,
            detect=False,
            forward=other.url,
            forward_headers="x-api-key=abc%20def",
            forward_mib=1,
        )
        with Server(config) as server:
            yield server, other


def post(server: Server, path: str, body: bytes, media_type: str = PROTOBUF, encoding: str = "") -> httpx.Response:
    """Send a request."""
    headers = {"content-type": media_type, "content-encoding": encoding}
    return httpx.post(server.addresses.http + path, content=body, headers=headers, trust_env=False, timeout=30)


def arrived(other: Endpoint, body: bytes) -> dict[str, str]:
    """The headers that a body came with, next to its path."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        for got in list(other.got):
            if got.body == body:
                return {"path": got.path, **got.headers}
        time.sleep(0.01)
    raise AssertionError("it did not arrive")


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs", "/v1/metrics"])
@pytest.mark.parametrize("form", [PROTOBUF, JSON, "gzip"])
def test_what_comes_by_http_goes_on_byte_for_byte(pair: tuple[Server, Endpoint], path: str, form: str) -> None:
    """Each signal, also one that is not kept here, in each encoding, packed or not: same bytes, same headers."""
    server, other = pair
    unknown = os.urandom(8).hex().encode()
    if form == JSON:
        body = b'{ "resourceSpans" : [],  "somethingNew": "' + unknown + b'"}'
    else:
        body = UNKNOWN_FIELD + b"\x10" + unknown
    body = gzip.compress(body) if form == "gzip" else body
    answer = post(server, path, body, JSON if form == JSON else PROTOBUF, "gzip" if form == "gzip" else "")
    assert answer.status_code == 200, answer.text
    headers = arrived(other, body)
    assert headers["path"] == path
    assert headers["content-type"] == (JSON if form == JSON else PROTOBUF)
    assert headers.get("content-encoding", "") == ("gzip" if form == "gzip" else "")
    assert headers["x-api-key"] == "abc def"


@pytest.mark.parametrize(
    ("path", "service", "message"),
    [
        ("/v1/traces", "trace.v1.TraceService", spans(3)),
        ("/v1/logs", "logs.v1.LogsService", ExportLogsServiceRequest(resource_logs=[{}]).SerializeToString()),
        (
            "/v1/metrics",
            "metrics.v1.MetricsService",
            ExportMetricsServiceRequest(resource_metrics=[{}, {}]).SerializeToString(),
        ),
    ],
)
def test_what_comes_by_grpc_goes_on_by_http(
    pair: tuple[Server, Endpoint], path: str, service: str, message: bytes
) -> None:
    """The message of a gRPC call is the body of a request in protobuf."""
    server, other = pair
    with grpc.insecure_channel(server.addresses.grpc) as channel:
        export = channel.unary_unary(f"/opentelemetry.proto.collector.{service}/Export")
        export(message, timeout=20, compression=grpc.Compression.Gzip)
    headers = arrived(other, message)
    assert (headers["path"], headers["content-type"]) == (path, PROTOBUF)


def test_what_is_refused_here_does_not_go_on(pair: tuple[Server, Endpoint]) -> None:
    """A body that is no OTLP is answered with 400, and nobody else hears of it."""
    server, other = pair
    assert post(server, "/v1/traces", b"\xff\xff not protobuf").status_code == 400
    body = spans(1)
    assert post(server, "/v1/traces", body).status_code == 200
    arrived(other, body)
    assert not [got for got in other.got if b"not protobuf" in got.body]


def test_a_stock_exporter_reaches_both(pair: tuple[Server, Endpoint]) -> None:
    """Spans of the OpenTelemetry SDK are stored here, and arrive over there as the exporter sent them."""
    server, other = pair
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{server.addresses.http}/v1/traces")))
    with provider.get_tracer("t").start_as_current_span("forwarded") as span:
        trace = span.get_span_context().trace_id
    provider.shutdown()
    kept = server.store.query("SELECT SpanName FROM otel_traces WHERE TraceId = {t:String}", {"t": f"{trace:032x}"})
    assert kept.rows == [("forwarded",)]
    deadline = time.monotonic() + 10
    while not any(trace.to_bytes(16) in got.body for got in list(other.got)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_figures_tell_what_became_of_everything(pair: tuple[Server, Endpoint]) -> None:
    """/metrics tells each request's fate, and what waits: in the end as many were delivered as have arrived."""
    server, other = pair
    body = spans(1)
    post(server, "/v1/traces", body)
    arrived(other, body)
    figures: dict[str, float] = {}
    deadline = time.monotonic() + 10
    while not figures or figures["waiting_requests"]:
        assert time.monotonic() < deadline
        text = httpx.get(f"{server.addresses.http}/metrics", trust_env=False).text
        found = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("overclaim_forward_")]
        figures = {name.removeprefix("overclaim_forward_"): float(value) for name, value in found}
    fates = {name: figures[f'requests_total{{fate="{name}"}}'] for name in ("delivered", "full", "refused", "given_up")}
    tried_again = 2
    assert fates == {"delivered": len(other.got) - tried_again, "full": 0, "refused": 0, "given_up": 0}
    assert figures["waiting_bytes"] == 0


def test_metrics_that_find_no_room_are_not_acknowledged(pair: tuple[Server, Endpoint]) -> None:
    """More than the queue can hold: who sends what is not kept is told to come again; spans are kept anyway."""
    server, _ = pair
    huge = UNKNOWN_FIELD + b"\x80\x80\x80\x01" + bytes(2 * 1024 * 1024)
    refused = post(server, "/v1/metrics", huge)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert post(server, "/v1/traces", huge).status_code == 200


def test_a_server_that_is_told_to_forward_to_itself_does_not_start(tmp_path: Path) -> None:
    """By its own address or by name: refused with a word for it."""
    with endpoint() as other:
        port = int(other.url.rpartition(":")[2])
    for name in ("127.0.0.1", "localhost"):
        config = ServeConfig(store=f"chdb://{tmp_path}", http_port=port, grpc_port=0, forward=f"http://{name}:{port}")
        with pytest.raises(InputError, match="this server itself"):
            Server(config).start()


def test_a_hung_endpoint_does_not_slow_the_store_down(pair: tuple[Server, Endpoint]) -> None:
    """Requests are answered as fast while the other side hangs as while it answers, and what overflows is counted."""
    server, other = pair

    def timed(_: int) -> float:
        body = spans(5, name="n" * 12_000)
        began = time.monotonic()
        assert post(server, "/v1/traces", body).status_code == 200
        return time.monotonic() - began

    def slowest() -> float:
        with ThreadPoolExecutor(4) as senders:
            return sorted(senders.map(timed, range(24)))[-3]

    before = _full(server)
    usual, released = slowest(), threading.Event()
    other.answer = lambda _: Answer() if released.wait(9) else Answer(500)
    beside_a_hung_one = slowest()
    full = _full(server)
    released.set()
    assert beside_a_hung_one < 3 * usual + 1  # whoever waited for the other side would take nine seconds
    assert full > before


def test_a_chain_of_collectors(pair: tuple[Server, Endpoint], tmp_path: Path) -> None:
    """`overclaim serve --forward` to another overclaim, which forwards itself: all three get what the first one got."""
    server, other = pair
    process, addresses = _serve(tmp_path / "first", "--forward", server.addresses.http)
    try:
        body, name = spans(7, "through the chain"), {"n": "through the chain"}
        first = addresses["http"]
        answer = httpx.post(f"{first}/v1/traces", content=body, headers={"content-type": PROTOBUF}, trust_env=False)
        assert answer.status_code == 200
        arrived(other, body)
    finally:
        process.terminate()
        process.communicate(timeout=20)
    kept = server.store.query("SELECT count() FROM otel_traces WHERE SpanName = {n:String}", name)
    assert kept.rows == [(7,)]


def _serve(store: Path, *more: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
    command = [sys.executable, "-m", "overclaim.cli", "serve", "--store", f"chdb://{store}", "--no-detect"]
    command += ["--http-port", "0", "--grpc-port", "0", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    line = process.stdout.readline().split()
    assert line[:1] == ["ready"], process.communicate()
    return process, dict(part.split("=", 1) for part in line[1:])


def _full(server: Server) -> float:
    text = httpx.get(f"{server.addresses.http}/metrics", trust_env=False).text
    (line,) = [line for line in text.splitlines() if line.startswith('overclaim_forward_requests_total{fate="full"}')]
    return float(line.rsplit(" ", 1)[1])
