"""How a program ends with us inside: quickly, with its own exit code, and with its spans delivered."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SECONDS = 3.0
TOOL = """
import sys, time, signal, os
import overclaim
overclaim.instrument(service_name="exit", endpoint=sys.argv[1], http_clients=False)
@overclaim.tool
def work():
    return "done"
work()
"""


class Sink(BaseHTTPRequestHandler):
    """Takes OTLP requests and keeps the names of the spans."""

    names: list[str]

    def do_POST(self) -> None:
        """Keep the spans."""
        request = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
        spans = (span for one in request.resource_spans for scope in one.scope_spans for span in scope.spans)
        self.server.names.extend(span.name for span in spans)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@pytest.fixture
def sink() -> Iterator[Any]:
    """An OTLP/HTTP endpoint; `.names` are the spans that arrived."""
    server = HTTPServer(("127.0.0.1", 0), Sink)
    server.names = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def start(code: str, port: int, before: str = "") -> subprocess.Popen[str]:
    """Start a program that was watched while it made one tool call; `before` runs ahead of `instrument()`."""
    env = {"PATH": "/usr/bin:/bin", "OTEL_BSP_SCHEDULE_DELAY": "60000"}  # only the end can deliver
    return subprocess.Popen(
        [sys.executable, "-c", before + TOOL + textwrap.dedent(code), f"http://127.0.0.1:{port}"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip


def end_of(process: subprocess.Popen[str]) -> tuple[int, float]:
    """The exit code, and how long the program took to end from now on."""
    started = time.monotonic()
    process.communicate(timeout=30)
    return process.returncode, time.monotonic() - started


def wait_ready(process: subprocess.Popen[str]) -> None:
    """Wait until the program says that it is ready."""
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready", process.stderr.read() if process.stderr else ""


def test_normal_exit_delivers(sink: Any) -> None:
    """Spans that ended arrive when the program ends by itself."""
    code, _ = end_of(start("sys.exit(7)", sink.server_port))
    assert code == 7
    assert sink.names == ["execute_tool work"]


def test_sigterm_delivers_and_still_kills(sink: Any) -> None:
    """SIGTERM delivers what has ended, and the process still dies of SIGTERM."""
    process = start("print('ready', flush=True); time.sleep(30)", sink.server_port)
    wait_ready(process)
    process.terminate()
    code, seconds = end_of(process)
    assert code == -signal.SIGTERM
    assert seconds < SECONDS
    assert sink.names == ["execute_tool work"]


def test_handler_of_the_program_is_still_called(sink: Any) -> None:
    """A handler that was there before us runs after the flush, and decides the exit code."""
    before = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(42))\n"
    process = start("print('ready', flush=True); time.sleep(30)", sink.server_port, before)
    wait_ready(process)
    process.terminate()
    assert end_of(process)[0] == 42
    assert sink.names == ["execute_tool work"]


def test_ignored_sigterm_stays_ignored(sink: Any) -> None:
    """A program that ignores SIGTERM goes on ignoring it."""
    before = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    process = start("os.kill(os.getpid(), signal.SIGTERM); sys.exit(5)", sink.server_port, before)
    assert end_of(process)[0] == 5


@pytest.mark.parametrize("ending", ["sys.exit(3)", "time.sleep(30)"], ids=["exit", "sigterm"])
@pytest.mark.parametrize("endpoint", ["refused", "silent"])
def test_dead_endpoint_does_not_hold_up_the_exit(endpoint: str, ending: str) -> None:
    """With an endpoint that refuses, or takes the connection and says nothing, the end takes under 3 seconds."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if endpoint == "silent":
            listener.listen()
        process = start(f"print('ready', flush=True); {ending}", listener.getsockname()[1])
        wait_ready(process)
        if "sleep" in ending:
            process.terminate()
        code, seconds = end_of(process)
    assert code == (-signal.SIGTERM if "sleep" in ending else 3)
    assert seconds < SECONDS


def test_exception_keeps_exit_code_and_message(sink: Any) -> None:
    """An uncaught exception ends the program as ever."""
    process = start("raise ValueError('theirs')", sink.server_port)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "ValueError: theirs" in err


def test_forked_child_works(sink: Any) -> None:
    """A forked child makes spans of its own and delivers them."""
    code = """
    pid = os.fork()
    if not pid:
        work()
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    sys.exit(os.waitstatus_to_exitcode(status))
    """
    assert end_of(start(code, sink.server_port))[0] == 0
    assert sink.names == ["execute_tool work"] * 2


def test_sigterm_flushes_the_users_provider_too(sink: Any) -> None:
    """A provider of the user's would lose its batch on SIGTERM; with us it is delivered, and SIGTERM still kills."""
    before = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
import sys
mine = TracerProvider()
mine.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=sys.argv[1] + "/v1/traces")))
trace.set_tracer_provider(mine)
"""
    process = start("print('ready', flush=True); time.sleep(30)", sink.server_port, before)
    wait_ready(process)
    process.terminate()
    assert end_of(process)[0] == -signal.SIGTERM
    assert sink.names == ["execute_tool work"]


def test_sigterm_flushes_a_provider_that_is_handed_in(sink: Any) -> None:
    """The same for a provider that is not the global one."""
    before = """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
import sys, overclaim
mine = TracerProvider()
mine.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=sys.argv[1] + "/v1/traces")))
real = overclaim.instrument
overclaim.instrument = lambda **_: real(tracer_provider=mine, http_clients=False)
"""
    process = start("print('ready', flush=True); time.sleep(30)", sink.server_port, before)
    wait_ready(process)
    process.terminate()
    assert end_of(process)[0] == -signal.SIGTERM
    assert sink.names == ["execute_tool work"]
