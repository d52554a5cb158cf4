from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.support.migrated import made_store

from overclaim._errors import StoreError
from overclaim._version import __version__
from overclaim.cli import main
from overclaim_detectors.opening import open_store

PROTOBUF = "application/x-protobuf"


def request(count: int, trace_id: bytes = b"") -> bytes:
    """A protobuf request with so many good spans of one trace."""
    trace_id, now = trace_id or os.urandom(16), time.time_ns()
    times = {"start_time_unix_nano": now, "end_time_unix_nano": now}
    message = ExportTraceServiceRequest()
    items = [Span(trace_id=trace_id, span_id=os.urandom(8), name="s", **times) for _ in range(count)]
    message.resource_spans.add().scope_spans.add(spans=items)
    return message.SerializeToString()


Serve = Callable[..., tuple[subprocess.Popen[str], dict[str, str]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts `overclaim serve` in a process of its own and gives it with the addresses it printed."""
    started: list[subprocess.Popen[str]] = []

    def start(store: Path, *more: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
        if not store.exists():
            made_store(store)
        command = [sys.executable, "-m", "overclaim.cli", "serve", "--store", f"chdb://{store}", "--no-detect"]
        command += ["--http-port", "0", "--grpc-port", "0", *more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout
        line = process.stdout.readline().split()
        assert line[:1] == ["ready"], process.communicate()
        return process, dict(part.split("=", 1) for part in line[1:])

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_in_the_middle_of_writing_keeps_every_answered_span(
    serve: Serve, tmp_path: Path, number: signal.Signals
) -> None:
    """Senders are at full speed when the signal comes: it ends in good order, and what was answered is stored."""
    process, addresses = serve(tmp_path / "store", "--ready-file", str(tmp_path / "ready"))
    assert json.loads((tmp_path / "ready").read_text()) == {**addresses, "pid": process.pid}
    answered: list[str] = []
    others: list[int] = []

    def send() -> None:
        with httpx.Client(trust_env=False) as client:
            while True:
                trace = os.urandom(16)
                headers = {"content-type": PROTOBUF}
                try:
                    body = request(20, trace)
                    answer = client.post(f"{addresses['http']}/v1/traces", content=body, headers=headers)
                except httpx.HTTPError:
                    return
                if answer.status_code == 200:
                    answered.append(trace.hex())
                else:
                    others.append(answer.status_code)

    senders = [threading.Thread(target=send) for _ in range(4)]
    for sender in senders:
        sender.start()
    while len(answered) < 40 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    for sender in senders:
        sender.join()
    assert process.returncode == 0, errors
    assert set(others) <= {503}
    assert "Traceback" not in errors
    kept = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        sql = "SELECT count(), countDistinct(SpanId) FROM otel_traces WHERE TraceId IN {traces:Array(String)}"
        assert kept.query(sql, {"traces": answered}).rows == [(20 * len(answered), 20 * len(answered))]
    finally:
        kept.close()


def test_kill_loses_nothing_that_was_answered(serve: Serve, tmp_path: Path) -> None:
    """SIGKILL right after an answer: the spans are there when the server runs again, for the first who asks."""
    process, addresses = serve(tmp_path / "store")
    traces = [os.urandom(16) for _ in range(20)]
    with httpx.Client(trust_env=False, headers={"content-type": PROTOBUF}) as client:
        for trace in traces:
            assert client.post(f"{addresses['http']}/v1/traces", content=request(10, trace)).status_code == 200
        process.kill()
    process.communicate()
    _, addresses = serve(tmp_path / "store")
    kept = open_store(addresses["http"])
    assert kept.query("SELECT count(), countDistinct(TraceId) FROM otel_traces").rows == [(200, 20)]
    kept.close()


def test_a_store_in_use_names_its_owner(serve: Serve, tmp_path: Path) -> None:
    """A second process is told the pid, the command and the address of the first."""
    process, addresses = serve(tmp_path / "store")
    try:
        with pytest.raises(StoreError, match=rf"in use by process {process.pid} .*serve") as caught:
            open_store(f"chdb://{tmp_path / 'store'}")
        assert addresses["http"] in str(caught.value)
        reader = open_store(f"chdb://{tmp_path / 'store'}", read_only=True)
        assert reader.query("SELECT count() FROM otel_traces").rows == [(0,)]
        reader.close()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_the_address_says_what_answers_there(serve: Serve, tmp_path: Path) -> None:
    """A browser on the address printed gets a page, and on its status page the version and each endpoint."""
    _, addresses = serve(tmp_path / "store")
    first, status = (
        httpx.get(addresses["http"] + path, headers={"accept": "text/html,*/*"}, trust_env=False)
        for path in ("/", "/status")
    )
    assert (first.status_code, first.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "overclaim.instrument()" in first.text
    endpoints = ("/v1/traces", "/api/query", "/api/owner", "/metrics", "/healthz", "/readyz")
    for word in (__version__, *endpoints):
        assert word in status.text
    foreign = httpx.get(addresses["http"], headers={"host": "evil.example"}, trust_env=False)
    assert foreign.status_code == 403


def test_the_help_names_the_variable_of_the_store(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever sets OVERCLAIM_STORE learns from the help that it counts here, too."""
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    assert "OVERCLAIM_STORE" in capsys.readouterr().out


def test_a_taken_port_ends_the_command_with_one_line(tmp_path: Path) -> None:
    """The command says what is wrong in one line and exits with 2."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "overclaim.cli", "serve", "--store", str(tmp_path), "--http-port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(f"overclaim: cannot listen for HTTP on 127.0.0.1 port {port}: it is in use")
    assert len(done.stderr.splitlines()) == 1


def run_python(text: str, *arguments: str) -> subprocess.Popen[str]:
    """Some Python in a process of its own."""
    command = [sys.executable, "-c", text, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


HANGING = """
import sys, time
from overclaim_collector import lifetime

class Hanging:
    def start(self):
        time.sleep(60 if sys.argv[1] == "start" else 0)
    def stop(self):
        time.sleep(60)

lifetime.STOP_SECONDS = float(sys.argv[2])
made = lifetime.Lifetime()
print("starting", flush=True)
sys.exit(made.run(Hanging(), lambda: print("ready", flush=True)))
"""


@pytest.mark.parametrize("part", ["start", "stop"])
def test_what_hangs_does_not_hold_up_the_end(part: str) -> None:
    """Whether the start hangs or the stop: after one signal and a time it ends all the same, and says so."""
    process = run_python(HANGING, part, "0.5")
    assert process.stdout
    while process.stdout.readline().strip() != ("starting" if part == "start" else "ready"):
        pass
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "something hangs" in errors
    assert "What was acknowledged is kept" in errors


def test_a_second_signal_ends_it_at_once() -> None:
    """Whoever is in a hurry sends it twice; the exit code tells the signal, as the shell does."""
    process = run_python(HANGING, "stop", "60")
    assert process.stdout
    assert process.stdout.readline() == "starting\n"
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.stderr
    assert "stopping" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT


def test_a_stop_while_starting_ends_it(tmp_path: Path) -> None:
    """The ClickHouse server that it waits for never answers: SIGTERM ends it in seconds, not after the timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"clickhouse://127.0.0.1:{silent.getsockname()[1]}/default"
        command = [sys.executable, "-m", "overclaim.cli", "serve", "--store", url, "--spool-dir", str(tmp_path)]
        command += ["--http-port", "0", "--grpc-port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        connection, _ = silent.accept()
        with connection:
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=60)
    assert (output, process.returncode) == ("", 1), errors
    assert time.monotonic() - begun < 15


STUCK = """
import sys, threading
from overclaim_collector import serve_command
from overclaim_detectors import _clients

real = _clients.ClientStore.raw_insert, _clients.ClientStore.insert
never = threading.Event()

def stuck(self, table, *rest):
    if started.is_set():
        never.wait()
    return real[0](self, table, *rest)

def stuck_rows(self, table, *rest):
    if started.is_set():
        never.wait()
    return real[1](self, table, *rest)

started = threading.Event()
_clients.ClientStore.raw_insert, _clients.ClientStore.insert = stuck, stuck_rows
say = serve_command._say_ready
serve_command._say_ready = lambda *given: (started.set(), say(*given))
from overclaim.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_stop_with_a_stuck_store_keeps_what_was_acknowledged(serve: Serve, tmp_path: Path) -> None:
    """No insert comes to an end any more: it stops all the same, and what it acknowledged is there after a restart."""
    store = f"chdb://{tmp_path / 'store'}"
    arguments = ["serve", "--store", store, "--no-detect", "--http-port", "0", "--grpc-port", "0"]
    process = run_python(STUCK, *arguments)
    assert process.stdout
    url = dict(part.split("=", 1) for part in process.stdout.readline().split()[1:])["http"]
    acknowledged = 0
    with httpx.Client(trust_env=False, headers={"content-type": PROTOBUF}, timeout=20) as client:
        while acknowledged < 50:  # the first one may be in the insert that hangs
            acknowledged += 10 * (client.post(f"{url}/v1/traces", content=request(10)).status_code == 200)
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert time.monotonic() - begun < 15, errors
    _, addresses = serve(tmp_path / "store")
    counted: int = 0
    with httpx.Client(base_url=addresses["http"], trust_env=False) as client:
        while counted < acknowledged:
            answer = client.post("/api/query", json={"sql": "SELECT countDistinct(SpanId) FROM otel_traces"})
            counted = answer.json()["rows"][0][0]
            time.sleep(0.1)
    assert counted >= acknowledged
