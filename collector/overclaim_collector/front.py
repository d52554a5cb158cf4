"""The two servers that clients talk to, each with its threads: HTTP and gRPC."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

from starlette.applications import Starlette
from starlette.routing import Route

from overclaim._errors import InputError
from overclaim_collector.addresses import listening_socket, with_port
from overclaim_collector.config import ServeConfig
from overclaim_collector.pages.page import Sources
from overclaim_collector.pages.site import Site
from overclaim_collector.receivers.grpc import GrpcReceiver, port_in_use
from overclaim_collector.receivers.grpc_auth import TokenInterceptor
from overclaim_collector.receivers.http import HttpReceiver
from overclaim_collector.receivers.ingest import Ingest
from overclaim_collector.receivers.others import Onward
from overclaim_collector.status import Status
from overclaim_collector.tls import Tls
from overclaim_collector.web.api import Api
from overclaim_collector.web.auth import Tokens
from overclaim_collector.web.clickhouse import endpoint as clickhouse
from overclaim_collector.web.guard import Guard
from overclaim_collector.web.health import Health
from overclaim_collector.web.http_server import HttpServer
from overclaim_collector.web.origin import Origins
from overclaim_collector.web.settled import Settled
from overclaim_detectors.store import Store

# Together with the HTTP server's two seconds and the writer's: stopped within five, whatever hangs.
_GRPC_SECONDS: Final = 1.0
# Threads that wait for the store most of the time: as many requests can share one insert.
_WORKERS: Final = 64
# People's questions at a time, each with its share of the engine's memory; one more waits for its turn.
QUERIES: Final = 2


class Front:
    """Both servers. running: undoes the start of each part, in the opposite order."""

    def __init__(self, config: ServeConfig, running: ExitStack, tokens: Tokens, tls: Tls | None) -> None:
        self.tokens = tokens
        self.tls = tls
        self._config = config
        self._running = running
        self._stops: list[Callable[[], None]] = []

    def listen(self) -> socket.socket:
        """The socket for HTTP, so that nobody else gets the port while the rest starts.

        Raises:
            InputError: the address cannot be had.
        """
        host, port = self._config.host, self._config.http_port
        try:
            sock = listening_socket(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise port_in_use("HTTP", host, port, "--http-port") from error
            raise InputError(f"cannot listen for HTTP on --host {host} --http-port {port}: {error.strerror}") from error
        self._running.callback(sock.close)
        return sock

    def start_grpc(self, ingest: Ingest, onward: Onward | None) -> int:
        """Serve gRPC; returns the port."""
        workers = self.pool("overclaim-grpc-worker", _WORKERS)
        receiver = GrpcReceiver(ingest, workers, onward, interceptors=[TokenInterceptor(self.tokens)])
        host = with_port(self._config.host, 0).removesuffix(":0")
        credentials = self.tls.grpc_credentials() if self.tls else None
        port = receiver.start(host, self._config.grpc_port, credentials)
        self._stops.append(lambda: receiver.stop(_GRPC_SECONDS))
        self._running.callback(self._stop)
        return port

    def start_http(self, sock: socket.socket, routes: list[Route]) -> None:
        """Serve HTTP, behind the guard."""
        guard = Guard(Starlette(routes=routes), self.tokens, Origins(beyond=self._config.beyond))
        server = HttpServer(guard, sock, self.tls)
        server.start()
        self._stops.append(server.stop)
        self._running.callback(self._stop)  # before the threads of both go, which work for them until the end

    def _stop(self) -> None:
        """What runs, both at the same time: each may take a second for what is under way."""
        stopping = [threading.Thread(target=stop) for stop in self._stops]
        self._stops.clear()
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()

    def routes(
        self, ingest: Ingest, onward: Onward | None, store: Store, status: Status, stopping: Callable[[], bool]
    ) -> list[Route]:
        """All that HTTP answers."""
        queries = Settled(self.pool("overclaim-query", QUERIES), status.kept.settle)
        api = Api(store, status.about, queries)
        probes = self.pool("overclaim-probe", 1)
        health = Health(store, status.details, status.metrics, status.has_room, stopping, probes)
        receiver = HttpReceiver(ingest, self.pool("overclaim-http-worker", _WORKERS), onward)
        site = Site(Sources(store, status.details), queries)
        asked = clickhouse.routes(store, queries, site.overview)
        return [*receiver.routes(), *api.routes(), *asked, *site.routes(), *health.routes()]

    def pool(self, name: str, size: int) -> ThreadPoolExecutor:
        """Threads that go when the server stops."""
        pool = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._running.callback(pool.shutdown, wait=False, cancel_futures=True)
        return pool
