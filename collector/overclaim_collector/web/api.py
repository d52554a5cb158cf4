"""The HTTP endpoints beside OTLP: health, readiness, who owns the store, and read-only SQL.

The SQL endpoint is for tools on this machine. A web page in a browser on this machine must not reach it: so a JSON
content type is demanded (which browsers send across origins only with permission), the Host must be a loopback name,
and so must the Origin where there is one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Executor
from typing import Final, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from overclaim._errors import StoreError
from overclaim._version import __version__
from overclaim_collector.receivers.bodies import body, drain
from overclaim_collector.refusal import Refusal, unavailable
from overclaim_collector.web.origin import is_foreign
from overclaim_collector.writing.writer import Counts
from overclaim_detectors.store import QueryError, Store

MAX_QUESTION: Final = 1 << 20
QUESTION_SECONDS: Final = 10.0
MAX_WAITING: Final = 64
_PIECE: Final = 256 << 10
_ABOUT = f"""\
overclaim {__version__}: a collector that finds where AI agents claim more than they did.

POST /v1/traces   spans over OTLP/HTTP (protobuf or JSON); agents: OTEL_EXPORTER_OTLP_ENDPOINT = this address
POST /api/query   one read-only statement: {{"sql": "SELECT ...", "params": {{"name": "value"}}}} as application/json
GET  /api/owner   this process, its store, how its detectors do
GET  /healthz     whether the process lives, and spans counted since its start
GET  /readyz      whether spans can be stored

Findings, in a terminal of this machine: overclaim report claims
"""


class Api:
    """The endpoints; `owner` is what /api/owner says about this process."""

    def __init__(
        self, store: Store, counts: Counts, owner: Callable[[], Mapping[str, object]], workers: Executor
    ) -> None:
        self._store = store
        self._counts = counts
        self._owner = owner
        self._workers = workers
        self._waiting = 0

    def routes(self) -> list[Route]:
        """The routes to serve."""
        return [
            Route("/", self.about, methods=["GET"]),
            Route("/healthz", self.health, methods=["GET"]),
            Route("/readyz", self.ready, methods=["GET"]),
            Route("/api/owner", self.owner, methods=["GET"]),
            Route("/api/query", self.query, methods=["POST"]),
        ]

    async def about(self, request: Request) -> Response:
        """What answers here, in words, for whoever opens the address in a browser."""
        return _foreign(request) or PlainTextResponse(_ABOUT)

    async def health(self, _: Request) -> Response:
        """The process lives; the body counts spans since the start."""
        counts = self._counts
        spans = {name: getattr(counts, name) for name in ("received", "stored", "repeated", "refused")}
        return JSONResponse({"status": "ok", "spans": spans})

    async def ready(self, _: Request) -> Response:
        """Spans can be stored: the store answers. How the detectors do is told, but makes nothing unready."""
        try:
            # Not among the questions: those may take their time.
            await asyncio.to_thread(self._store.query, "SELECT 1")
        except StoreError as error:
            return JSONResponse({"status": "not ready", "error": str(error)}, 503)
        return JSONResponse({"status": "ready", "detector": self._owner().get("detector")})

    async def owner(self, request: Request) -> Response:
        """Which process has the store, where it answers, and how its detectors do."""
        return _foreign(request) or JSONResponse(dict(self._owner()))

    async def query(self, request: Request) -> Response:
        """Answer {"sql": ..., "params": {...}} with {"columns": [...], "rows": [[...], ...]}."""
        if refused := _foreign(request) or _not_json(request):
            return refused
        try:
            sql, params = _question(await body(request, MAX_QUESTION, QUESTION_SECONDS))
            answer = await self._answered(sql, params)
        except Refusal as refusal:
            await drain(request, QUESTION_SECONDS)
            return JSONResponse({"error": refusal.message}, refusal.reason.http_status)
        except (ValueError, QueryError) as error:
            return JSONResponse({"error": str(error)}, 400)
        except StoreError as error:
            return JSONResponse({"error": str(error)}, 503)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        headers = {"Content-Length": str(len(answer))}
        return StreamingResponse(_pieces(answer), media_type="application/json", headers=headers)

    async def _answered(self, sql: str, params: Mapping[str, object]) -> bytes:
        if self._waiting >= MAX_WAITING:
            raise unavailable("too many questions at once: ask again")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._workers, self._store.answer, sql, params)
        finally:
            self._waiting -= 1


def _foreign(request: Request) -> Response | None:
    """Refuse a request that was meant for another host, as after DNS rebinding."""
    if not is_foreign(request):
        return None
    return JSONResponse({"error": "this address answers only on loopback names, such as http://127.0.0.1"}, 403)


def _not_json(request: Request) -> Response | None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
        return None
    return JSONResponse({"error": "Content-Type must be application/json"}, 415)


def _question(text: bytes) -> tuple[str, dict[str, object]]:
    try:
        data: object = json.loads(text)
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is legal JSON and no legal text
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is not valid JSON: {error}") from error
    fields = cast(dict[str, object], data) if isinstance(data, dict) else {}
    sql, params = fields.get("sql"), fields.get("params")
    if not isinstance(sql, str) or not isinstance(params, dict | None):
        raise ValueError('the body must be {"sql": "SELECT ...", "params": {"name": value}}')
    return sql.strip().removesuffix(";"), cast(dict[str, object], params or {})


async def _pieces(answer: bytes) -> AsyncIterator[memoryview]:
    """A large answer piece by piece, so that others are served meanwhile."""
    whole = memoryview(answer)
    for start in range(0, len(whole), _PIECE):
        yield whole[start : start + _PIECE]
