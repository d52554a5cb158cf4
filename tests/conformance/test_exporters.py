from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.conformance.answering import DONE, Answering, Script, answering
from tests.faults.harness.served import Served

from overclaim_collector.receivers import answers, http
from overclaim_collector.receivers.ingest import Receipt
from overclaim_collector.refusal import RETRY_AFTER_SECONDS, Reason, Refusal, invalid, too_large, unavailable

UNAUTHENTICATED = Refusal(Reason.UNAUTHENTICATED, "a token is needed")
WAYS = ["http spans", "http logs", "grpc spans", "grpc logs"]


def exporter(way: str, at: Answering, timeout: float = 10) -> Any:
    """A stock exporter."""
    grpc = {"endpoint": f"http://{at.grpc}", "insecure": True, "timeout": timeout}
    return {
        "http spans": lambda: HttpSpans(endpoint=f"{at.http}/v1/traces", timeout=timeout),
        "http logs": lambda: HttpLogs(endpoint=f"{at.http}/v1/logs", timeout=timeout),
        "grpc spans": lambda: GrpcSpans(**grpc),
        "grpc logs": lambda: GrpcLogs(**grpc),
    }[way]()


def batch(way: str) -> Any:
    """A span or a log record as the SDK makes it."""
    if way.endswith("spans"):
        exported, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exported))
        provider.get_tracer("t").start_span("s").end()
        provider.shutdown()
        return exported.get_finished_spans()
    logs, log_provider = InMemoryLogRecordExporter(), LoggerProvider()
    log_provider.add_log_record_processor(SimpleLogRecordProcessor(logs))
    log_provider.get_logger("t").emit(LogRecord(body="text"))
    log_provider.shutdown()
    return logs.get_finished_logs()


def sent(way: str, script: Script, timeout: float = 10) -> tuple[str, int, float]:
    """What the exporter makes of the answers: SUCCESS or FAILURE, after how many requests and seconds."""
    with answering(script) as at:
        sender, items = exporter(way, at, timeout), batch(way)
        begun = time.monotonic()
        result = sender.export(items).name
        took = time.monotonic() - begun
        sender.shutdown()
    return result, len(script.bodies), took


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("receipt", [DONE, Receipt(1, "1 refused: id of zeros"), Receipt(0, "a warning")], ids=str)
def test_success_whole_or_in_part_is_never_sent_again(way: str, receipt: Receipt) -> None:
    """Whatever partial success says, the exporter is done."""
    assert sent(way, Script([receipt]))[:2] == ("SUCCESS", 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("refusal", [invalid("no request"), UNAUTHENTICATED], ids=lambda refusal: refusal.reason.name)
def test_what_can_never_succeed_is_never_sent_again(way: str, refusal: Refusal) -> None:
    """Bad data and a missing token cost the exporter one request each, and no retries."""
    assert sent(way, Script([refusal]))[:2] == ("FAILURE", 1)


@pytest.mark.parametrize("way", ["http spans", "http logs"])
def test_what_is_too_large_is_never_sent_again(way: str) -> None:
    """413 is final; over gRPC the Python exporter tries again all the same, against the specification."""
    assert sent(way, Script([too_large("too much")]))[:2] == ("FAILURE", 1)


@pytest.mark.parametrize("way", ["http spans", "grpc logs"])
def test_under_pressure_the_exporter_comes_again_when_it_is_told_to(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exporters read from 503 and UNAVAILABLE when to come: here two seconds, where by themselves they wait one."""
    monkeypatch.setattr(http, "RETRY_AFTER_SECONDS", 2)
    monkeypatch.setattr(answers, "RETRY", RetryInfo(retry_delay=Duration(seconds=2)))
    script = Script([unavailable("busy"), DONE])
    result, requests, took = sent(way, script)
    assert (result, requests) == ("SUCCESS", 2)
    assert 1.95 < took < 9
    assert script.bodies[0] == script.bodies[1]


def test_when_to_come_again_leaves_time_for_it() -> None:
    """An exporter gives a batch ten seconds in all, and gives up at once where it is told to wait longer."""
    assert RETRY_AFTER_SECONDS == answers.RETRY.retry_delay.seconds < 5


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server in a process of its own."""
    with Served(tmp_path_factory.mktemp("exporters"), "--no-detect") as running:
        yield running


COUNTED = "SELECT count(), countDistinct(SpanId) FROM otel_traces WHERE ServiceName = {service:String}"


@pytest.mark.parametrize("way", ["http spans", "grpc spans"])
def test_a_burst_at_the_defaults_of_the_sdk_arrives_whole(served: Served, way: str) -> None:
    """Six thousand spans in some three seconds: the queue of 2048 never overflows, since answers come soon.

    Made without any pause they overflow it also where a server answers at once: encoding takes the same interpreter.
    On a machine that is busy with something else it takes longer.
    """
    pause = 0.2 * min(5, max(1, os.getloadavg()[0] / (os.cpu_count() or 1)))
    service = f"burst {way}"
    provider = TracerProvider(resource=Resource({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(exporter(way, Answering(served.http, served.grpc))))
    tracer = provider.get_tracer("t")
    for number in range(6000):
        time.sleep(pause if number % 500 == 499 else 0)
        with tracer.start_as_current_span("execute_tool search") as span:
            span.set_attributes({"gen_ai.tool.name": "search", "gen_ai.operation.name": "execute_tool", "n": number})
    provider.shutdown()
    served.settle()
    assert served.query(COUNTED, service=service) == [[6000, 6000]]


class CutOff:
    """Stands between exporter and server, and drops the first connection after the server has answered."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        for self.connections in (1, 2):
            ours, _ = self._listening.accept()
            with ours, socket.create_connection(("127.0.0.1", self._port)) as theirs:
                self._carry(ours, theirs, answered=self.connections > 1)
        self._listening.close()

    def _carry(self, ours: socket.socket, theirs: socket.socket, *, answered: bool) -> None:
        ours.settimeout(0.3)
        try:
            while data := ours.recv(65536):
                theirs.sendall(data)
        except TimeoutError:
            answer = theirs.recv(65536)  # the spans are stored now
        if answered:
            ours.sendall(answer)


def test_a_request_whose_answer_is_lost_is_sent_again_and_stored_once(served: Served) -> None:
    """The connection breaks between storing and answering: the exporter repeats itself, the store does not."""
    proxy = CutOff(int(served.http.rsplit(":", 1)[1]))
    provider = TracerProvider(resource=Resource({"service.name": "cut off"}))
    sender = HttpSpans(endpoint=f"http://127.0.0.1:{proxy.port}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(sender))
    for number in range(10):
        provider.get_tracer("t").start_span(str(number)).end()
    provider.shutdown()
    served.settle()
    assert proxy.connections == 2
    assert served.query(COUNTED, service="cut off") == [[10, 10]]
