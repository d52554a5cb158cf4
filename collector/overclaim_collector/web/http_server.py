"""The HTTP server in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from overclaim._errors import OverclaimError
from overclaim_collector.tls import Tls

_IDLE_SECONDS = 75  # longer than any exporter's interval, so that it finds its connection still open
_HEADER_SECONDS = 10.0
_HANDSHAKE_SECONDS = 10.0
_GRACE_SECONDS = 1


class _Protocol(H11Protocol):
    """One connection. uvicorn itself waits without end for a header that never comes to its end."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_header()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._patience is None:
            self._wait_for_header()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait_for_header(self) -> None:
        self._patience = self.loop.call_later(_HEADER_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        if self.conn.their_state is h11.IDLE:
            self.transport.close()


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose servers give a TLS handshake ten seconds, not the usual sixty: uvicorn cannot be told."""

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = _HANDSHAKE_SECONDS
        return await super().create_server(*args, **options)


class HttpServer:
    """Serves an application on a socket that already listens; with `tls` nothing but TLS is answered."""

    def __init__(self, app: ASGIApp, sock: socket.socket, tls: Tls | None = None) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        config.load()
        config.ssl = tls.context if tls else None
        self._server = uvicorn.Server(config)
        self._socket = sock
        self._thread = threading.Thread(target=self._run, name="overclaim-http", daemon=True)

    def start(self) -> None:
        """Start; returns when requests are answered."""
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise OverclaimError("the HTTP server did not start: its log says why")
            time.sleep(0.005)

    def stop(self) -> None:
        """Take no new requests, let those in work end, and stop."""
        self._server.should_exit = True
        self._thread.join(_GRACE_SECONDS + 1)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(self._server.serve(sockets=[self._socket]))
