"""Agents of real frameworks with fake models: what their spans say, as a collector would read them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

from overclaim.outcome.judge import judge
from overclaim.outcome.model import Judgement
from overclaim.reading.otlp_files import decode_protobuf
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs

EXAMPLES = Path(__file__).parents[2] / "examples" / "frameworks"


@dataclass(frozen=True)
class Seen:
    """What a collector got: all spans, and the verdict on each run in them."""

    spans: tuple[Span, ...]

    @property
    def judged(self) -> list[Judgement]:
        """The verdicts, one a run."""
        return [judge(run) for run in runs(self.spans)]

    @property
    def verdicts(self) -> list[str]:
        """Their labels."""
        return [one.verdict.value for one in self.judged]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Tool and observed outcome of every call of every run."""
        return [(call.tool, call.observed.outcome.value) for one in self.judged for call in one.run.calls]

    def labelled(self, attribute: str) -> list[object]:
        """The values of an attribute on the spans that have it."""
        return [span.attributes[attribute] for span in self.spans if attribute in span.attributes]


def needs(*modules: str) -> None:
    """Skip a test where one of these is not installed, such as what others offer for a framework."""
    for module in modules:
        try:
            found = find_spec(module)
        except ModuleNotFoundError:  # nor is the package that it would be in
            found = None
        if found is None:
            pytest.skip(f"{module} is not installed")


def sent(spans: Iterable[ReadableSpan]) -> Seen:
    """Spans of this process, by way of the wire."""
    return Seen(tuple(decode_protobuf(encode_spans(list(spans)).SerializeToString()).spans))


@contextmanager
def collector() -> Iterator[list[bytes]]:
    """An OTLP/HTTP endpoint at OTEL_EXPORTER_OTLP_ENDPOINT for child processes; gives the bodies that arrive."""

    class Take(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Keep one request."""
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    bodies: list[bytes] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Take) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        before = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
        try:
            yield bodies
        finally:
            if before is None:
                del os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
            else:
                os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = before
            server.shutdown()
            thread.join()


def decoded(bodies: Iterable[bytes]) -> list[Span]:
    """The spans of the requests that arrived."""
    return [span for body in bodies for span in decode_protobuf(body).spans]


def example(name: str) -> Seen:
    """Run `examples/frameworks/{name}.py` as a user would; it must end well. Gives what its collector got."""
    with collector() as bodies:
        env = {**os.environ, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        command = [sys.executable, str(EXAMPLES / f"{name}.py")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=env)
    assert done.returncode == 0, done.stderr
    return Seen(tuple(decoded(bodies)))
