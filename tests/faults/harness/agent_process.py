"""What befalls the agent's own process: it is killed, its endpoint hangs, or answers with far too much."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.served import Served

CALLS = 100
CHATTER = 200 << 20
# Makes tool calls, says how long the slowest took, and then does nothing until it is ended.
AGENT = """
import sys, time, os
import overclaim
overclaim.instrument(service_name="agent", endpoint=sys.argv[1], http_clients=False)
@overclaim.tool
def work(number):
    return "done"
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
before, slow = peak(), []
for number in range(int(sys.argv[2])):
    begun = time.perf_counter()
    work(number)
    slow.append(time.perf_counter() - begun)
    time.sleep(float(sys.argv[3]))
print("made", sorted(slow)[int(len(slow) * 0.99)], flush=True)
time.sleep(float(sys.argv[4]))
print("memory", peak() - before, flush=True)
"""


class Agent:
    """A program with watched tool calls that sends to an endpoint."""

    def __init__(self, endpoint: str, calls: int = CALLS, pause: float = 0.0, rest: float = 600.0) -> None:
        arguments = [endpoint, str(calls), str(pause), str(rest)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", AGENT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def said(self) -> float:
        """The number on its next line of output."""
        assert self._process.stdout
        return float(self._process.stdout.readline().split()[1])

    def end(self, number: signal.Signals | None = None) -> tuple[int, str]:
        """Its exit code and what it wrote to stderr, after this signal if one is given."""
        if number is not None:
            self._process.send_signal(number)
        _, errors = self._process.communicate(timeout=60)
        return self._process.returncode, errors


def killed(number: signal.Signals) -> int:
    """How many of the tool calls of an agent arrive that gets this signal right after making them."""
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder), "--no-detect") as served:
        agent = Agent(served.http)
        agent.said()
        agent.end(number)
        served.settle()
        return served.number("SELECT uniqExact(SpanId) FROM otel_traces WHERE SpanName = 'execute_tool work'")


class Hung(BaseHTTPRequestHandler):
    """Takes a request and never answers."""

    def do_POST(self) -> None:
        """Wait."""
        time.sleep(3600)


class Chatty(BaseHTTPRequestHandler):
    """Refuses each request with more words than anybody wants."""

    def do_POST(self) -> None:
        """Talk."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(400)
        self.send_header("content-length", str(CHATTER))
        self.end_headers()
        piece = bytes(1 << 20)
        try:
            for _ in range(CHATTER >> 20):
                self.wfile.write(piece)
                self.server.told += len(piece)  # type: ignore[attr-defined]
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@contextmanager
def endpoint(handler: type[BaseHTTPRequestHandler]) -> Iterator[ThreadingHTTPServer]:
    """An endpoint on loopback that behaves like that."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.told = 0  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def measure_killed(_: Options) -> Measured:
    """The row about SIGTERM, and what SIGKILL costs."""
    ended, gone = killed(signal.SIGTERM), killed(signal.SIGKILL)
    said = f"SIGTERM: {ended} of {CALLS} arrive; SIGKILL: {gone} of {CALLS} (not built: a spool in the agent)"
    return Measured(said, ended == CALLS)


def measure_hung(options: Options) -> Measured:
    """The row about an endpoint that never answers, beside an agent at the same time whose endpoint does.

    The machine may be busy with other things, so the best of several rounds counts.
    """
    rounds = [_round(1000 if options.quick else 3000) for _ in range(2 if options.quick else 4)]
    hung, well = min(((hung, well) for hung, well, _, _ in rounds), key=lambda pair: pair[0] - pair[1])
    failures = sum(errors.count("Traceback") for _, _, _, errors in rounds)
    codes = {code for _, _, code, _ in rounds}
    said = f"tool call p99 {hung * 1000:.2f} ms, {well * 1000:.2f} ms with an endpoint that answers"
    said += f"; {failures} tracebacks; ends with {', '.join(map(str, codes))} on SIGTERM"
    return Measured(said, hung - well <= 0.001 and not failures and codes == {-signal.SIGTERM})


def _round(calls: int) -> tuple[float, float, int, str]:
    """The p99 of a tool call with the endpoint that hangs and with one that answers; how the first agent ended."""
    with (
        endpoint(Hung) as server,
        tempfile.TemporaryDirectory() as folder,
        Served(Path(folder), "--no-detect") as served,
    ):
        agent = Agent(f"http://127.0.0.1:{server.server_port}", calls, 0.002)
        other = Agent(served.http, calls, 0.002)
        hung, well = agent.said(), other.said()
        other.end(signal.SIGKILL)
        return hung, well, *agent.end(signal.SIGTERM)


def measure_chatty(_: Options) -> Measured:
    """The row about an endpoint that answers with 200 MiB."""
    with endpoint(Chatty) as server:
        agent = Agent(f"http://127.0.0.1:{server.server_port}", rest=8.0)
        agent.said()
        grown = agent.said()
        agent.end(signal.SIGKILL)
        told = int(server.told)  # type: ignore[attr-defined]
    return Measured(f"{told / (1 << 20):.0f} MiB of the answer read, memory +{grown:.0f} MiB", told <= 8 << 20)


KILLED = Fault("agent_killed", "agent process killed", "SIGTERM: 100 of 100 spans arrive", measure_killed)
HUNG = Fault("exporter_hung", "endpoint of the agent hangs", "tool call p99 +<= 1 ms, 0 exceptions", measure_hung)
CHATTY = Fault("huge_response", "endpoint of the agent answers with 200 MiB", "read <= 64 KiB of it", measure_chatty)
