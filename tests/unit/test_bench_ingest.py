"""The bench of receiving: what it sends, and what it says of our server and of any other endpoint."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from tests.bench.ingest.__main__ import lines, load_of, parsed
from tests.bench.ingest.agent_runs import bodies
from tests.bench.ingest.measuring import Figures, measure
from tests.bench.ingest.sending import send
from tests.bench.ingest.targets import Target, endpoint, own_server
from tests.bench.ingest.transports import Http


class Stub(BaseHTTPRequestHandler):
    """An endpoint that is full at first, refuses one span of each request, and counts what it gets."""

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        server: Any = self.server
        server.requests += 1
        if server.requests == 1:
            self._answer(503, b"")
            return
        request = ExportTraceServiceRequest.FromString(body)
        server.spans += sum(len(scope.spans) for one in request.resource_spans for scope in one.scope_spans)
        answer = ExportTraceServiceResponse()
        answer.partial_success.rejected_spans = 1
        self._answer(200, answer.SerializeToString())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@contextmanager
def stub() -> Iterator[Any]:
    """A running stub, with `url`, `requests` and `spans`."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    server.requests = server.spans = 0
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_bodies_carry_so_many_spans_in_each_encoding() -> None:
    """Protobuf, JSON and gzip of both hold the same number of spans, the last request what is left over."""
    made = bodies(70, 32)
    assert [body.spans for body in made] == [32, 32, 6]
    last = ExportTraceServiceRequest.FromString(made[-1].content)
    assert sum(len(scope.spans) for one in last.resource_spans for scope in one.scope_spans) == 6
    (text,) = bodies(13, 32, as_json=True, packed=True)
    (scope,) = json.loads(gzip.decompress(text.content))["resourceSpans"][0]["scopeSpans"]
    assert len(scope["spans"]) == 13
    assert len(scope["spans"][0]["traceId"]) == 32


def test_another_endpoint_is_measured_by_the_same_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent = acknowledged + refused + unanswered; CPU and memory come from the process that is named."""
    monkeypatch.setattr("tests.bench.ingest.sending.PAUSE_SECONDS", 0.01)
    load = load_of(parsed(["--spans", "256", "--batch", "32", "--senders", "2"]))
    with stub() as server, endpoint(server.url, os.getpid()) as target:
        found = measure(target, load, bodies(64, 32))
        assert server.spans == 256 + 64
    assert (found.sent.acknowledged, found.sent.refused, found.sent.unanswered) == (256 - 8, 8, 0)
    assert found.sent.again == 1
    assert found.stored is None
    assert found.cpu is not None
    assert found.peak is not None
    assert len(found.alone.latencies) == 2
    said = dict(lines(found))
    assert said["spans"] == "256 sent: 248 acknowledged, 8 refused, 0 unanswered; - stored"
    assert said["requests sent again"] == "1"


def test_an_endpoint_that_is_not_there_acknowledges_nothing() -> None:
    """Nothing is counted as acknowledged, and figures that nobody can know are left out."""
    gone = Target("http://127.0.0.1:9", "127.0.0.1:9", None)
    load = load_of(parsed(["--spans", "20"]))
    found = measure(gone, load, [])
    assert (found.sent.acknowledged, found.sent.unanswered) == (0, 20)
    assert dict(lines(found))["CPU seconds per 100k spans"] == "-"


def test_a_rate_is_kept() -> None:
    """Requests go out at their time, not as fast as they are answered."""
    with stub() as server:
        server.requests = 1
        begun = time.perf_counter()
        send(bodies(60, 20), 2, lambda: Http(server.url, {"content-type": "application/x-protobuf"}), rate=100)
        assert time.perf_counter() - begun >= 0.4


@pytest.mark.parametrize("options", [[], ["--grpc", "--gzip"], ["--json"]], ids=["http", "grpc", "json"])
def test_our_server_stores_all_that_is_sent(options: list[str], server: Target) -> None:
    """A small load over each transport: acknowledged, stored, with figures for CPU, memory and time."""
    before = server.stored() or 0
    found: Figures = measure(server, load_of(parsed(["--spans", "500", "--batch", "100", *options])), [])
    assert found.sent.acknowledged == 500
    assert found.stored == before + 500
    assert found.cpu_per_100k
    assert found.idle
    assert found.peak
    assert found.sent.latency(0.5) > 0


@pytest.fixture(scope="module")
def server() -> Iterator[Target]:
    """Our server, in a process of its own."""
    with own_server(detect=False) as target:
        yield target
