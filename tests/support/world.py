"""A real HTTP server of a test, which answers as it is told: the world that postconditions ask."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Reply:
    """What is answered: after a pause, with a status, a body, and headers."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    pause: float = 0.0


class World(ThreadingHTTPServer):
    """Replies by path, in their order; the last one stays. asked: the paths and headers of all requests."""

    daemon_threads = True

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def reply(self, path: str, *replies: Reply) -> None:
        """Answer requests for a path like this."""
        self.replies[path] = list(replies)

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [path for path, _ in self.asked]


class _Handler(BaseHTTPRequestHandler):
    """Answers for a World."""

    def do_GET(self) -> None:
        """Answer one request."""
        world = self.server
        assert isinstance(world, World)
        world.asked.append((self.path, dict(self.headers.items())))
        replies = world.replies.get(self.path, [Reply(404)])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        time.sleep(reply.pause)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        try:
            self.send_response(reply.status)
            for name, text in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            return  # who asked has gone

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def world() -> Iterator[World]:
    """Such a server, listening."""
    with World() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
