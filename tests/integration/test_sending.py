"""Spans on their way out of the provider that `instrument()` makes: how many may wait, and what is said of the others.

Everything goes with the stock exporters over loopback.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from tests.faults.harness.burst import SPANS, Arrived, program
from tests.faults.harness.null_receiver import NullReceiver

from overclaim._provider import make
from overclaim._sending import QUEUE, Sender


class Gate(BaseHTTPRequestHandler):
    """Counts the spans of a request, and answers with `server.status` once `server.opened` is set."""

    def do_POST(self) -> None:
        """Wait, count and answer."""
        server: Any = self.server
        request = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
        server.reached.set()
        assert server.opened.wait(60)
        spans = sum(len(scope.spans) for one in request.resource_spans for scope in one.scope_spans)
        server.counts.append(spans)
        self.send_response(server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@pytest.fixture
def gate() -> Iterator[Any]:
    """An OTLP/HTTP endpoint that is closed; `.counts` has the number of spans of each request that was answered."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Gate)
    server.opened, server.reached, server.counts, server.status = threading.Event(), threading.Event(), [], 200
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.opened.set()
    server.shutdown()
    server.server_close()
    thread.join()


def at(gate: Any) -> TracerProvider:
    """A provider of ours that sends there."""
    return make("sending", f"http://127.0.0.1:{gate.server_port}")


def end_spans(provider: TracerProvider, number: int) -> None:
    """End so many spans at once."""
    tracer = provider.get_tracer("t")
    for _ in range(number):
        tracer.start_span("s").end()


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What overclaim warned of."""
    return [record.getMessage() for record in caplog.records if record.name == "overclaim"]


def wait_said(caplog: pytest.LogCaptureFixture) -> None:
    """Wait until it warned of something."""
    end = time.monotonic() + 30
    while not said(caplog) and time.monotonic() < end:
        time.sleep(0.01)
    assert said(caplog)


@pytest.mark.parametrize("protocol", ["http", pytest.param("grpc", marks=pytest.mark.slow)])
def test_a_burst_through_our_provider_arrives_whole(protocol: str) -> None:
    """A program makes 6,006 spans of agents as fast as it can, and ends: none is lost, as they are with the SDK's."""
    with NullReceiver() as null:
        _, told = program(null, protocol, "ours")
        assert (null.spans(), told) == (SPANS, [])


def test_as_many_as_may_wait_arrive_once_the_endpoint_answers(gate: Any, caplog: pytest.LogCaptureFixture) -> None:
    """More than 16,000 spans end while the endpoint answers nothing; then all of them arrive, and nothing is said."""
    provider = at(gate)
    end_spans(provider, QUEUE)
    gate.opened.set()
    provider.shutdown()
    assert sum(gate.counts) == QUEUE == 16_384
    assert said(caplog) == []


def test_what_finds_no_room_is_told_by_number(
    gate: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's own bound holds; what is lost beyond it is told with the variable that keeps more, and told once."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
    provider = at(gate)
    end_spans(provider, 64)
    assert gate.reached.wait(30)  # a first batch of 64 is under way, and has left the queue
    end_spans(provider, 64 + 36)
    gate.opened.set()
    wait_said(caplog)  # while the program goes on
    assert provider.force_flush()
    assert provider.force_flush()
    assert gate.counts == [64, 64]
    assert said(caplog) == [
        "overclaim: 36 spans lost so far: they ended while 64 waited; a larger OTEL_BSP_MAX_QUEUE_SIZE keeps more"
    ]
    end_spans(provider, 10)
    provider.shutdown()
    assert sum(gate.counts) == 138
    assert len(said(caplog)) == 1


def test_what_the_endpoint_does_not_take_is_told_by_number(
    gate: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans that it refuses are lost as well; where it takes nothing, no longer queue is advised."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
    gate.status = 400
    provider = at(gate)
    end_spans(provider, 64)
    assert gate.reached.wait(30)
    end_spans(provider, 65)
    gate.opened.set()
    provider.shutdown()
    told = " ".join(said(caplog))
    assert "1 spans lost so far: they ended while 64 waited; the endpoint takes nothing" in told
    assert "128 spans lost so far: the endpoint did not take them" in told
    assert "larger" not in told


SILENT = """
import sys, overclaim
overclaim.instrument(service_name="end", endpoint=sys.argv[1], http_clients=False)
from opentelemetry import trace
for _ in range(700):
    trace.get_tracer("t").start_span("s").end()
"""


def run(code: str, gate: Any, **environment: str) -> str:
    """Run a program to its end; what it says on its standard error."""
    return subprocess.run(
        [sys.executable, "-c", code, f"http://127.0.0.1:{gate.server_port}"],
        capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin", **environment},
    ).stderr  # fmt: skip


def test_what_is_not_sent_when_the_program_ends_is_told_by_number(gate: Any) -> None:
    """The endpoint says nothing, and the program ends all the same: all 700 are told as lost, with those under way."""
    told = re.findall(r"overclaim: up to (\d+) spans lost at the end", run(SILENT, gate))
    assert told == ["700"]


FORKS = """
import os, sys, overclaim
overclaim.instrument(service_name="fork", endpoint=sys.argv[1], http_clients=False)
from opentelemetry import trace
def end(number):
    for _ in range(number):
        trace.get_tracer("t").start_span("s").end()
end(60)
child = os.fork()
end(0 if child else 61)
if child:
    os.waitpid(child, 0)
"""


def test_a_forked_child_has_a_queue_of_its_own(gate: Any) -> None:
    """What waits in the parent takes no room in the child, and nothing is sent twice."""
    gate.opened.set()
    told = run(FORKS, gate, OTEL_BSP_MAX_QUEUE_SIZE="64", OTEL_BSP_SCHEDULE_DELAY="60000")
    assert gate.counts == [61, 60]
    assert "lost" not in told


class RecordOnly(Sampler):
    """Spans are recorded here and sent nowhere."""

    def should_sample(self, *_: Any, **__: Any) -> SamplingResult:
        """Always so."""
        return SamplingResult(Decision.RECORD_ONLY)

    def get_description(self) -> str:
        """Its name."""
        return "record only"


def test_spans_that_are_not_sampled_take_no_room(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are not sent, so they are not lost."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
    provider = TracerProvider(sampler=RecordOnly())
    provider.add_span_processor(Sender(ConsoleSpanExporter()))
    end_spans(provider, 20)
    provider.shutdown()
    assert said(caplog) == []


@pytest.mark.parametrize("value", ["many", "0", "-5"])
def test_a_size_that_is_none_is_told_and_the_default_holds(
    value: str, gate: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake in the variable costs no spans."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", value)
    gate.opened.set()
    provider = at(gate)
    end_spans(provider, 3)
    provider.shutdown()
    assert sum(gate.counts) == 3
    assert said(caplog) == [f"overclaim: OTEL_BSP_MAX_QUEUE_SIZE={value} is no number above 0; 16384 spans may wait"]


@pytest.mark.parametrize(("stock", "share"), [([90, 96, 97], "96%"), ([50, 60, 99], "60%")])
def test_the_share_of_a_burst_is_of_the_medians(stock: Sequence[int], share: str) -> None:
    """And the worst of each is told beside it."""
    found = Arrived(list(stock), [100, 98, 102], [100, 100, 100])
    assert f"http {share}: {stock[1]} of 100 (worst {stock[0]} of 98)" in found.said("http")
