from __future__ import annotations

import gzip
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from tests.faults.slow_senders import HALF_BODY, HALF_HEADER, Stalled, head
from tests.support.migrated import made_store

from overclaim._errors import InputError, OverclaimError
from overclaim_collector.config import ServeConfig, load
from overclaim_collector.receivers import bodies
from overclaim_collector.receivers.admission import Admission
from overclaim_collector.receivers.http import BODY_SECONDS
from overclaim_collector.receivers.inflate import MAX_BODY, inflate
from overclaim_collector.refusal import Reason, Refusal
from overclaim_collector.server import Server
from overclaim_collector.web import http_server
from overclaim_detectors.opening import open_store
from overclaim_detectors.runner import follow

PROTOBUF = "application/x-protobuf"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server on free ports with a store of its own. Without a spool, what the store refuses is not taken."""
    store = f"chdb://{made_store(tmp_path_factory.mktemp('faults'))}"
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False, spool_mib=0)) as running:
        yield running


def post(server: Server, body: bytes, media_type: str = PROTOBUF, encoding: str = "") -> httpx.Response:
    """Send one request."""
    headers = {"content-type": media_type, "content-encoding": encoding}
    url = f"{server.addresses.http}/v1/traces"
    return httpx.post(url, content=body, headers=headers, trust_env=False, timeout=30)


def http_port(server: Server) -> int:
    """Where it answers HTTP."""
    return int(server.addresses.http.rsplit(":", 1)[1])


def request(count: int, trace_id: bytes = b"") -> bytes:
    """A protobuf request with so many good spans of one trace."""
    trace_id, now = trace_id or os.urandom(16), time.time_ns()
    times = {"start_time_unix_nano": now, "end_time_unix_nano": now}
    message = ExportTraceServiceRequest()
    items = [Span(trace_id=trace_id, span_id=os.urandom(8), name="s", **times) for _ in range(count)]
    message.resource_spans.add().scope_spans.add(spans=items)
    return message.SerializeToString()


def test_a_body_over_the_limit_is_refused(server: Server) -> None:
    """The limit holds for plain bodies, announced or streamed, and every sender gets to read the answer."""
    assert post(server, bytes(MAX_BODY + 1)).status_code == 413
    sender = HTTPConnection(server.addresses.http.removeprefix("http://"), timeout=30)
    sender.request("POST", "/v1/traces", bytes(MAX_BODY + 1), {"Content-Type": PROTOBUF})
    assert sender.getresponse().status == 413
    sender.close()
    chunks = (bytes(1 << 20) for _ in range(65))
    headers = {"content-type": PROTOBUF}
    url = f"{server.addresses.http}/v1/traces"
    assert httpx.post(url, content=chunks, headers=headers, trust_env=False, timeout=30).status_code == 413


@pytest.mark.parametrize("cut", [0, 1, 10, 100])
def test_damaged_gzip_is_refused(server: Server, cut: int) -> None:
    """A truncated or corrupt gzip body is the sender's mistake, 400."""
    packed = gzip.compress(request(50))
    damaged = packed[:-cut] if cut else packed[:60] + b"\xff\xff\xff" + packed[63:]
    assert post(server, damaged, encoding="gzip").status_code == 400


def test_gzip_in_several_members_is_one_body() -> None:
    """Concatenated gzip members and padding are valid gzip."""
    assert inflate(gzip.compress(b"ab") + gzip.compress(b"cd") + bytes(8), "gzip") == b"abcd"
    assert inflate(b"", "identity") == b""
    with pytest.raises(Refusal, match="larger than 3 bytes"):
        inflate(gzip.compress(b"ab") + gzip.compress(b"cd"), "gzip", 3)
    assert inflate(zlib.compress(b"abc"), "deflate", 3) == b"abc"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"") * 100_000, "gzip"),
        (gzip.compress(b"a") + b"rubbish", "gzip"),
        (b"rubbish", "gzip"),
        (zlib.compress(b"abc")[:-1], "deflate"),
        (b"rubbish", "deflate"),
    ],
    ids=["many-members", "trailing", "no-gzip", "cut-deflate", "no-deflate"],
)
def test_data_that_are_not_what_they_say_are_refused(body: bytes, encoding: str) -> None:
    """Whatever is wrong with compressed data, it is the sender's mistake."""
    with pytest.raises(Refusal) as caught:
        inflate(body, encoding)
    assert caught.value.reason is Reason.INVALID


def test_cut_and_flipped_bodies_never_fail_the_server(server: Server) -> None:
    """Any damage to a body is answered with 200 or 400."""
    body, statuses = request(3), set[int]()
    with httpx.Client(base_url=server.addresses.http, trust_env=False, headers={"content-type": PROTOBUF}) as client:
        for place in range(0, len(body), 11):
            flipped = body[:place] + bytes([body[place] ^ 0x85]) + body[place + 1 :]
            statuses |= {client.post("/v1/traces", content=bad).status_code for bad in (body[:place], flipped)}
    assert statuses <= {200, 400}
    assert httpx.get(f"{server.addresses.http}/readyz", trust_env=False).status_code == 200


def http_exporter(server: Server) -> SpanExporter:
    """The stock HTTP exporter."""
    return HttpExporter(endpoint=f"{server.addresses.http}/v1/traces")


def grpc_exporter(server: Server) -> SpanExporter:
    """The stock gRPC exporter."""
    return GrpcExporter(endpoint=f"http://{server.addresses.grpc}", insecure=True)


@pytest.mark.parametrize("exporter", [http_exporter, grpc_exporter])
def test_while_the_store_fails_exporters_retry_and_spans_are_stored_once(
    server: Server, exporter: Callable[[Server], SpanExporter], request: pytest.FixtureRequest
) -> None:
    """The table is gone for a second: 503 and UNAVAILABLE; when it is back, the retry brings every span once."""
    service = request.node.name
    provider = TracerProvider(resource=Resource({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(exporter(server)))
    for number in range(100):
        provider.get_tracer("t").start_span(str(number)).end()
    server.store.command("RENAME TABLE otel_traces TO otel_traces_away")
    back = threading.Timer(0.5, server.store.command, ["RENAME TABLE otel_traces_away TO otel_traces"])
    back.start()
    provider.shutdown()
    back.join()
    sql = "SELECT count(), countDistinct(SpanId) FROM otel_traces WHERE ServiceName = {service:String}"
    assert server.store.query(sql, {"service": service}).rows == [(100, 100)]
    counts = server.counts["traces"]
    assert counts.received == counts.stored + counts.repeated + counts.refused


def test_a_failing_store_is_503_with_a_time_to_come_again(server: Server) -> None:
    """Both transports say when to come again, gRPC in both forms that clients read."""
    server.store.command("RENAME TABLE otel_traces TO otel_traces_away")
    try:
        answer = post(server, request(1))
        with grpc.insecure_channel(server.addresses.grpc) as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")(request(1))
    finally:
        server.store.command("RENAME TABLE otel_traces_away TO otel_traces")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    failed: Any = caught.value
    assert failed.code() is grpc.StatusCode.UNAVAILABLE
    assert {"grpc-status-details-bin", "google.rpc.retryinfo-bin"} <= {key for key, _ in failed.trailing_metadata()}


def test_admission_is_bounded_and_given_back() -> None:
    """Too many bytes or requests in work are refused for now, and room comes back; what never fits is refused."""
    admission = Admission(max_bytes=10, max_requests=2)
    with admission.request() as first, admission.request():
        first.take(8)
        with pytest.raises(Refusal) as too_much:
            first.take(3)
        with pytest.raises(Refusal) as too_many, admission.request():
            pass
    assert (too_much.value.reason, too_many.value.reason) == (Reason.TOO_LARGE, Reason.UNAVAILABLE)
    with admission.request() as first, admission.request() as second:
        first.take(8)
        with pytest.raises(Refusal) as caught:
            second.take(3)
    assert caught.value.reason is Reason.UNAVAILABLE
    with admission.request() as again:
        again.take(10)


def test_bodies_that_arrive_never_take_all_the_room() -> None:
    """Of the bytes a third is for requests that are all here; bytes that have arrived make room for others."""
    admission = Admission(max_bytes=9, max_requests=1)
    with admission.arrival() as stalled:
        stalled.take(6)
        with admission.arrival() as late, pytest.raises(Refusal):
            late.take(1)
        with admission.request() as here:
            here.take(3)
        with stalled.work(), admission.arrival() as next_one:
            next_one.take(3)
    with admission.request() as again:
        again.take(9)


def test_a_store_closed_under_the_last_pass_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """Stopping in the middle of a pass is no failure, and no next try is announced."""

    class StoppedMeanwhile(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            self.set()
            return False

    store = open_store("http://127.0.0.1:1")  # nobody there: each pass fails
    follow(store, 0.01, StoppedMeanwhile())
    assert caplog.records == []


def test_stalled_senders_do_not_shut_out_the_others(server: Server) -> None:
    """Hundreds of requests whose bodies never come, or come half, and spans are still taken at once."""
    with (
        Stalled(http_port(server), HALF_BODY, 400),
        Stalled(http_port(server), HALF_HEADER, 50),
    ):
        time.sleep(0.5)
        begun = time.monotonic()
        assert post(server, request(5)).status_code == 200
        assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    ("begin", "status", "seconds"),
    [
        (HALF_BODY, b"503", 4),
        (head("/api/query", 100, "application/json") + b"{", b"408", 4),
        (head("/v1/traces", 100 << 20) + b"x" * 1000, b"413", 3),
        (head("/v1/traces", 10**19) + b"x", b"413", 3),
        (head("/api/query", 100 << 20, "application/json") + b"{", b"413", 3),
        (head("/v1/traces", 1000).replace(b"Content-Length: 1000", b"Content-Length: -5") + b"x", b"400", 1),
        (HALF_HEADER, b"", 4),
    ],
    ids=["traces", "question", "large-traces", "huge-traces", "large-question", "negative", "header"],
)
def test_senders_that_stall_or_lie_are_told_soon(
    server: Server, monkeypatch: pytest.MonkeyPatch, begin: bytes, status: bytes, seconds: float
) -> None:
    """Headers and bodies have a time limit, and an announced length over the limit is answered at once.

    An exporter never sends again after 408, so spans that got stuck on the way are told to come again.
    """
    monkeypatch.setattr(bodies, "STALL_SECONDS", 1.0)
    monkeypatch.setattr(http_server, "_HEADER_SECONDS", 1.0)
    with Stalled(http_port(server), begin) as sender:
        said, took = sender.answer(seconds + 10)
    assert said.partition(b"\r\n")[0].split()[1:2] == ([status] if status else [])
    assert took < seconds + 5


def test_the_time_limits_are_those_that_the_documentation_names() -> None:
    """Ten seconds for a header, thirty for a body, five without a byte."""
    assert (http_server._HEADER_SECONDS, BODY_SECONDS, bodies.STALL_SECONDS) == (10, 30, 5)  # pyright: ignore


def test_a_port_in_use_is_named_with_the_cure(server: Server, tmp_path: Path) -> None:
    """The message has the port and the option, for HTTP and for gRPC; nothing is left open."""
    port = int(server.addresses.http.rsplit(":", 1)[1])
    other = Server(ServeConfig(store=f"chdb://{tmp_path}", http_port=port, detect=False))
    with pytest.raises(InputError, match=rf"port {port}: it is in use.*--http-port"):
        other.start()
    grpc_port = int(server.addresses.grpc.rsplit(":", 1)[1])
    store = server.addresses.store
    config = ServeConfig(store=store, http_port=0, grpc_port=grpc_port, detect=False, spool_mib=0)
    with pytest.raises(InputError, match=rf"port {grpc_port}: it is in use.*--grpc-port"):
        Server(config).start()
    assert httpx.get(f"{server.addresses.http}/readyz", trust_env=False).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "example.com", "::"])
def test_only_loopback_is_listened_on(host: str) -> None:
    """Without tokens nobody beyond this machine may send or ask."""
    with pytest.raises(InputError, match="must show a token"):
        load({"host": host}, {})


def test_wrong_settings_are_named() -> None:
    """The message has the option, its variable and the value; arguments win over variables."""
    with pytest.raises(InputError, match=r"--http-port \(or OVERCLAIM_HTTP_PORT\) cannot be '70000'"):
        load({}, {"OVERCLAIM_HTTP_PORT": "70000"})
    with pytest.raises(InputError, match="--detect-interval"):
        load({"detect_interval": 0.0}, {})
    assert load({"http_port": 5, "store": None}, {"OVERCLAIM_HTTP_PORT": "6"}).http_port == 5
    assert load({}, {"OVERCLAIM_STORE": "/data/x"}).store == "chdb:///data/x"


def test_a_server_that_is_not_running_says_so() -> None:
    """Its addresses exist only while it runs."""
    with pytest.raises(OverclaimError, match="not running"):
        _ = Server(ServeConfig()).addresses
