"""A receiver that answers at once and keeps nothing but the bytes: as good as any collector can be for its senders.

`python -m tests.faults.harness.null_receiver` says where it listens, and for each line of input how many spans came
since the line before. It counts them only then, so that it takes no time from those who send.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.faults.harness.tests_of import ROOT

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"


class NullReceiver:
    """One in a process of its own, which ends with the block: its work takes nothing from this interpreter."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.faults.harness.null_receiver"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, bufsize=1
        )
        _, self.http, self.grpc = self._said().split()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def spans(self) -> int:
        """How many spans came since the last time."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        return int(self._said())

    def _said(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()


class _Http(BaseHTTPRequestHandler):
    """Keeps the body of each request in `server.bodies`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer with an empty message."""
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


def _http(bodies: list[bytes]) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Http)
    server.bodies = bodies  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _grpc(bodies: list[bytes]) -> tuple[grpc.Server, int]:
    def export(request: bytes, _: Any) -> bytes:
        bodies.append(request)
        return b""

    server = grpc.server(ThreadPoolExecutor(4))
    handlers: dict[str, Any] = {"Export": grpc.unary_unary_rpc_method_handler(export)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def _count(bodies: list[bytes]) -> int:
    """The spans of the bodies, which are forgotten."""
    requests = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    bodies.clear()
    return sum(
        len(scope.spans) for one in requests for resource in one.resource_spans for scope in resource.scope_spans
    )


def main() -> None:
    """Receive until the input ends."""
    bodies: list[bytes] = []
    server, (rpc, port) = _http(bodies), _grpc(bodies)
    print(f"ready http://127.0.0.1:{server.server_port} 127.0.0.1:{port}", flush=True)
    for _ in sys.stdin:
        print(_count(bodies), flush=True)
    rpc.stop(0)


if __name__ == "__main__":
    main()
