"""An OTLP/HTTP endpoint that remembers what it got, byte for byte, and answers as it is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Got:
    """A request; the names of its headers are in lower case."""

    path: str
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """What to say. seconds: how long to think before. whole: close the connection without an answer if not."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    whole: bool = True


@dataclass
class Endpoint:
    """The other side. answer: what to say to the nth request, from 0."""

    answer: Callable[[int], Answer] = lambda _number: Answer()
    got: list[Got] = field(default_factory=list[Got])
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def bodies(self) -> list[bytes]:
        """The bodies that came, in no order."""
        return sorted(got.body for got in list(self.got))

    def wait(self, count: int, seconds: float = 10) -> None:
        """Until so many requests came."""
        deadline = time.monotonic() + seconds
        while len(self.got) < count:
            assert time.monotonic() < deadline, f"{len(self.got)} of {count} requests came"
            time.sleep(0.005)

    def taken(self, got: Got) -> Answer:
        """Remember a request."""
        with self._lock:
            self.got.append(got)
            number = len(self.got) - 1
        return self.answer(number)


@contextmanager
def endpoint(port: int = 0, answer: Callable[[int], Answer] = lambda _number: Answer()) -> Iterator[Endpoint]:
    """A running endpoint on a free port, or on one of before."""
    remembering = Endpoint(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = remembering.taken(Got(self.path, body, headers))
            time.sleep(said.seconds)
            if not said.whole:
                self.close_connection = True
                return
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, format: str, *args: object) -> None:
            """Be quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Who was answered may have gone."""

    with Server(("127.0.0.1", port), Handler) as server:
        remembering.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield remembering
        finally:
            server.shutdown()
            thread.join()
