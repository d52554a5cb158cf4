"""Servers of tests in this process, with tokens or without, and what they serve."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route
from tests.support.migrated import made_store

from overclaim_collector.config import ServeConfig
from overclaim_collector.front import Front
from overclaim_collector.receivers.grpc import GrpcReceiver
from overclaim_collector.server import Server

OWNER = "the-owners-token-0123456789abcdef"
SENDER = "the-senders-token-0123456789abcdef"
TOKENS: dict[str, Any] = {"token": OWNER, "ingest_token": SENDER}


class Served:
    """A running server, the routes of its HTTP server, and the full names of its gRPC methods."""

    def __init__(self) -> None:
        self.server: Server | None = None
        self.routes: list[Route] = []
        self.methods: set[str] = set()

    @property
    def url(self) -> str:
        """Where it answers HTTP."""
        assert self.server
        return self.server.addresses.http

    @property
    def grpc(self) -> str:
        """Where it answers gRPC."""
        assert self.server
        return self.server.addresses.grpc


@contextmanager
def served(store: Path, **options: Any) -> Generator[Served]:
    """Such a server, on free ports, with a store of its own in an empty directory."""
    found = Served()
    start_http, handlers = Front.start_http, GrpcReceiver._handlers  # pyright: ignore[reportPrivateUsage]

    def watched_http(self: Front, sock: Any, routes: list[Route]) -> None:
        found.routes = routes
        start_http(self, sock, routes)

    def watched_handlers(self: GrpcReceiver) -> list[Any]:
        made = handlers(self)
        found.methods = {method for handler in made for method in handler._method_handlers}
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Front, "start_http", watched_http)
        patch.setattr(GrpcReceiver, "_handlers", watched_handlers)
        given: dict[str, Any] = {"http_port": 0, "grpc_port": 0, "detect": False, **options}
        with Server(ServeConfig(store=f"chdb://{made_store(store)}", **given)) as found.server:
            yield found
