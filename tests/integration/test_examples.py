from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from overclaim.expectations import load
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

EXAMPLES = Path(__file__).parents[2] / "examples"
NOWHERE = "http://127.0.0.1:9"


def example(name: str, *args: str) -> str:
    """What an example prints; it must end well, and a collector that does not answer must not stop it."""
    command = [sys.executable, str(EXAMPLES / name), *args]
    env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": NOWHERE}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a real `overclaim serve` in a process of its own."""
    place = tmp_path_factory.mktemp("serve")
    ready = place / "ready.json"
    ports = ["--http-port", "0", "--grpc-port", "0", "--detect-interval", "0.3"]
    command = [sys.executable, "-m", "overclaim.cli", "serve", "--store", f"chdb://{place / 'store'}", *ports]
    process = subprocess.Popen([*command, "--ready-file", str(ready)], stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: ready.exists())
        yield json.loads(ready.read_text())["http"]
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def store(server: str) -> Iterator[Store]:
    """The store of that server."""
    opened = open_store(server)
    yield opened
    opened.close()


class Sink(ThreadingHTTPServer):
    """Another OTLP endpoint, which keeps what it gets."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        super().__init__(("127.0.0.1", 0), _Keep)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def span_ids(self) -> set[str]:
        """Hex ids of all spans that arrived."""
        scopes = [scope for one in self.requests for res in one.resource_spans for scope in res.scope_spans]
        return {span.span_id.hex() for scope in scopes for span in scope.spans}


class _Keep(BaseHTTPRequestHandler):
    """Answers for a Sink."""

    def do_POST(self) -> None:
        """Keep one request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        assert isinstance(self.server, Sink)
        self.server.requests.append(ExportTraceServiceRequest.FromString(plain))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def sink() -> Iterator[Sink]:
    """Such an endpoint, listening."""
    with Sink() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def eventually(check: object, seconds: float = 20.0) -> None:
    """Wait until a condition holds."""
    assert callable(check)
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def verdicts(store: Store, agent: str) -> list[str]:
    """The verdicts on the runs of an agent."""
    sql = "SELECT Label FROM overclaim_verdicts FINAL WHERE Agent = {agent:String} AND Claim = -1"
    return [row[0] for row in store.query(sql, {"agent": agent}).rows]


def test_examples_run_offline() -> None:
    """Each example ends well and says what its agent said, though no collector answers."""
    assert "Endpoint confirmed working" in example("payments_agent.py")
    assert "I cancelled order A-17" in example("raw_openai_loop.py")
    assert "execute_tool send_mail" in example("existing_otel_stack.py")


def test_the_guard_knows_before_the_answer_is_out() -> None:
    """In the raw loop the verdict is there without any collector."""
    assert "guard: contradicted" in example("raw_openai_loop.py")


def test_the_postcondition_finds_what_the_tool_hides() -> None:
    """Of two runs with the same answers of the tools one is contradicted: by a request, and by a function."""
    held, failed = example("payments_verified.py").splitlines()
    assert held.startswith("supported")
    assert failed.startswith("contradicted: I captured the charge ch_2")
    assert "postcondition.failed" in failed


def test_the_file_of_expectations_is_valid() -> None:
    """It loads, and every postcondition in it is one that can be made."""
    expected = load(EXAMPLES / "expectations.yaml")
    assert expected.rules.facts("createUser").success_when is not None
    assert [check.pattern for check in expected.checks] == ["create_user"]


def test_the_ten_line_agent_is_contradicted_within_seconds(server: str, store: Store) -> None:
    """The agent's claim is found to be untrue within 15 seconds of the end of its run."""
    example("payments_agent.py", server)
    eventually(lambda: verdicts(store, "payments") == ["contradicted"], 15)
    assert verdicts(store, "payments") == ["contradicted"]


def test_the_raw_loop_is_contradicted(server: str, store: Store) -> None:
    """The collector comes to the verdict that the guard gave."""
    example("raw_openai_loop.py", server)
    eventually(lambda: verdicts(store, "orders") == ["contradicted"], 15)
    assert verdicts(store, "orders") == ["contradicted"]


def test_an_existing_stack_keeps_getting_the_same_spans(server: str, store: Store, sink: Sink) -> None:
    """Both exporters deliver every span: to the stack that was there, and to overclaim, which judges the run."""
    example("existing_otel_stack.py", sink.url, server)
    eventually(lambda: verdicts(store, "mailer") == ["contradicted"], 15)
    stored = store.query("SELECT DISTINCT SpanId FROM otel_traces WHERE ServiceName = 'mail-agent'").rows
    assert {row[0] for row in stored} == sink.span_ids() != set()
