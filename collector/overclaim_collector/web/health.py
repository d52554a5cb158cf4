"""The HTTP endpoints for whatever watches over this process: health, readiness, metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from overclaim._errors import StoreError
from overclaim_collector.web.auth import Role
from overclaim_collector.web.metrics import Metric, exposition
from overclaim_detectors.store import Store

_PROBE_SECONDS: Final = 2.0
_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Health:
    """The endpoints. Whoever has not shown the owner's token learns no more than yes or no.

    details: what /healthz tells beside that. metrics: what /metrics tells. has_room: whether data are taken while the
    store takes none. stopping: whether the server is about to end. probes: one thread, for asking the store.
    """

    def __init__(
        self,
        store: Store,
        details: Callable[[], Mapping[str, object]],
        metrics: Callable[[], Iterable[Metric]],
        has_room: Callable[[], bool],
        stopping: Callable[[], bool],
        probes: Executor,
    ) -> None:
        self._store = store
        self._details = details
        self._metrics = metrics
        self._has_room = has_room
        self._stopping = stopping
        self._probes = probes

    def routes(self) -> list[Route]:
        """The routes to serve."""
        return [
            Route("/healthz", self.health, methods=["GET"]),
            Route("/readyz", self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def health(self, request: Request) -> Response:
        """The process lives."""
        return JSONResponse({"status": "ok", **(self._details() if _is_owner(request) else {})})

    async def ready(self, request: Request) -> Response:
        """Data are taken: the store answers, or the spool has room. How detectors do makes nothing unready."""
        if self._stopping():
            return JSONResponse({"status": "stopping"}, 503)
        error = await self._store_error()
        if error and not self._has_room():
            return JSONResponse({"status": "not ready", **({"error": error} if _is_owner(request) else {})}, 503)
        return JSONResponse({"status": "ready", **(self._details() if _is_owner(request) else {})})

    async def metrics(self, _: Request) -> Response:
        """All figures, in the text format of Prometheus."""
        return PlainTextResponse(exposition(self._metrics()), headers={"Content-Type": _TYPE})

    async def _store_error(self) -> str:
        """Why the store does not answer; empty when it does."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await asyncio.get_running_loop().run_in_executor(self._probes, self._store.query, "SELECT 1")
        except StoreError as error:
            return str(error)
        except TimeoutError:
            return f"the store does not answer within {_PROBE_SECONDS:.0f} s"
        return ""


def _is_owner(request: Request) -> bool:
    return request.state.role >= Role.OWNER
