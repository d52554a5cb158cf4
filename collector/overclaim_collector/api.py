"""The HTTP endpoints beside OTLP: health, readiness, who owns the store, and read-only SQL.

The SQL endpoint is for tools on this machine. A web page in a browser on this machine must not reach it: so a JSON
content type is demanded (which browsers send across origins only with permission) and the Host must be a loopback name.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from datetime import date, datetime
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from overclaim._errors import StoreError
from overclaim_collector.addresses import is_loopback
from overclaim_collector.writer import Counts
from overclaim_detectors.store import QueryError, Rows, Store

_MAX_QUESTION = 1 << 20


class Api:
    """The endpoints; `owner` is what /api/owner says about this process."""

    def __init__(
        self, store: Store, counts: Counts, owner: Callable[[], Mapping[str, object]], workers: Executor
    ) -> None:
        self._store = store
        self._counts = counts
        self._owner = owner
        self._workers = workers

    def routes(self) -> list[Route]:
        """The routes to serve."""
        return [
            Route("/healthz", self.health, methods=["GET"]),
            Route("/readyz", self.ready, methods=["GET"]),
            Route("/api/owner", self.owner, methods=["GET"]),
            Route("/api/query", self.query, methods=["POST"]),
        ]

    async def health(self, _: Request) -> Response:
        """The process lives; the body counts spans since the start."""
        counts = self._counts
        spans = {name: getattr(counts, name) for name in ("received", "stored", "repeated", "refused")}
        return JSONResponse({"status": "ok", "spans": spans})

    async def ready(self, _: Request) -> Response:
        """Spans can be stored: the store answers. How the detectors do is told, but makes nothing unready."""
        try:
            await self._in_worker(lambda: self._store.query("SELECT 1"))
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
            sql, params = _question(await _limited_body(request))
            body = await self._in_worker(lambda: _written(self._store.read(sql, params)))
        except (ValueError, QueryError) as error:
            return JSONResponse({"error": str(error)}, 400)
        except StoreError as error:
            return JSONResponse({"error": str(error)}, 503)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        return Response(body, media_type="application/json")

    async def _in_worker(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)


def _foreign(request: Request) -> Response | None:
    """Refuse a request that was meant for another host, as after DNS rebinding."""
    if is_loopback(request.url.hostname or ""):
        return None
    return JSONResponse({"error": "this address answers only on loopback names, such as http://127.0.0.1"}, 403)


def _not_json(request: Request) -> Response | None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
        return None
    return JSONResponse({"error": "Content-Type must be application/json"}, 415)


async def _limited_body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MAX_QUESTION:
            raise ValueError(f"the question is larger than {_MAX_QUESTION} bytes")
    return body


def _question(body: bytes) -> tuple[str, dict[str, object]]:
    try:
        data: object = json.loads(body)
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is legal JSON and no legal text
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is not valid JSON: {error}") from error
    fields = cast(dict[str, object], data) if isinstance(data, dict) else {}
    sql, params = fields.get("sql"), fields.get("params")
    if not isinstance(sql, str) or not isinstance(params, dict | None):
        raise ValueError('the body must be {"sql": "SELECT ...", "params": {"name": value}}')
    return sql.strip().removesuffix(";"), cast(dict[str, object], params or {})


def _written(rows: Rows) -> bytes:
    table = {"columns": rows.columns, "rows": [[_plain(value) for value in row] for row in rows.rows]}
    return json.dumps(table, ensure_ascii=False, default=str).encode("utf-8", "replace")


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: times as ClickHouse writes them, NaN and infinity as null."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in cast(dict[object, object], value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast(list[object], value)]
    return value
