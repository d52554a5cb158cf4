"""The HTTP endpoints for people and tools: who owns the store, read-only SQL, and decisions on drifts.

A web page in a browser on this machine must not reach the SQL: so a JSON content type is demanded (which browsers send
across origins only with permission), beside what guard.py asks of every request.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Executor
from typing import Final, TypeVar, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from overclaim._errors import InputError, StoreError
from overclaim_collector.receivers.bodies import body, drain
from overclaim_collector.refusal import RETRY_AFTER_SECONDS, Reason, Refusal, unavailable
from overclaim_detectors.drift.actions import action, perform
from overclaim_detectors.store import MAX_ANSWER, QueryError, Store

MAX_QUESTION: Final = 1 << 20
MAX_DECISION: Final = 16 << 10
QUESTION_SECONDS: Final = 10.0
SENDING_SECONDS: Final = 120.0
MAX_WAITING: Final = 64
_PIECE: Final = 256 << 10
_NO_MEMORY: Final = 241
_AGAIN: Final = {"Retry-After": str(RETRY_AFTER_SECONDS)}

_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)


class Api:
    """The endpoints. owner: what /api/owner says about this process. room: bytes that answers on their way may take."""

    def __init__(
        self, store: Store, owner: Callable[[], Mapping[str, object]], workers: Executor, room: int = 2 * MAX_ANSWER
    ) -> None:
        self._store = store
        self._owner = owner
        self._workers = workers
        self._waiting = 0
        self._room = room

    def routes(self) -> list[Route]:
        """The routes to serve."""
        return [
            Route("/api/owner", self.owner, methods=["GET"]),
            Route("/api/query", self.query, methods=["POST"]),
            Route("/api/drifts", self.decide, methods=["POST"]),
        ]

    async def owner(self, _: Request) -> Response:
        """Which process has the store, where it answers, and how its detectors do."""
        return JSONResponse(dict(self._owner()))

    async def query(self, request: Request) -> Response:
        """Answer {"sql": ..., "params": {...}} with {"columns": [...], "rows": [[...], ...]}."""

        async def answered(text: bytes) -> Response:
            return self._sent(await self._work(self._store.answer, *_question(text)))

        return await self._answer(request, MAX_QUESTION, answered)

    async def decide(self, request: Request) -> Response:
        """Do {"what": "accept", "drift": ID, "why": ..., "who": ...}, and answer with what the drift is then."""

        async def decided(text: bytes) -> Response:
            wanted = action(_object(text))
            done = await self._work(perform, self._store, wanted, int(time.time()))
            _log.warning("drift %s: %s by %r", done.drift, wanted.what, wanted.who)
            return JSONResponse(done.fields())

        return await self._answer(request, MAX_DECISION, decided)

    async def _answer(self, request: Request, most: int, answered: Callable[[bytes], Awaitable[Response]]) -> Response:
        """The answer to a body of JSON, of at most so many bytes, or why there is none."""
        if refused := _not_json(request):
            return refused
        try:
            return await answered(await body(request, most, QUESTION_SECONDS))
        except Refusal as refusal:
            await drain(request, QUESTION_SECONDS)
            again = _AGAIN if refusal.reason is Reason.UNAVAILABLE else None
            return JSONResponse({"error": refusal.message}, refusal.reason.http_status, again)
        except QueryError as error:
            # The whole engine has no memory left, whatever the statement.
            pressure = error.code == _NO_MEMORY and "(total)" in str(error)
            return JSONResponse({"error": str(error)}, 503 if pressure else 400, _AGAIN if pressure else None)
        except (ValueError, InputError) as error:
            return JSONResponse({"error": str(error)}, 400)
        except StoreError as error:
            return JSONResponse({"error": str(error)}, 503, _AGAIN)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it

    def _sent(self, answer: bytes) -> Response:
        """The answer on its way, as long as there is room: slow readers must not pile up large ones."""
        if len(answer) > self._room:
            return JSONResponse({"error": "too many large answers are on their way: ask again"}, 503, _AGAIN)
        self._room -= len(answer)
        return _Sending(answer, self._give_back)

    def _give_back(self, size: int) -> None:
        self._room += size

    async def _work(self, work: Callable[..., _Result], *arguments: object) -> _Result:
        """What asks the store, in a thread for that."""
        if self._waiting >= MAX_WAITING:
            raise unavailable("too many questions at once: ask again")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._workers, work, *arguments)
        finally:
            self._waiting -= 1


def _not_json(request: Request) -> Response | None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
        return None
    return JSONResponse({"error": "Content-Type must be application/json"}, 415)


def _object(text: bytes) -> dict[str, object]:
    try:
        data: object = json.loads(text)
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is legal JSON and no legal text
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the body is not valid JSON: {error}") from error
    return cast(dict[str, object], data) if isinstance(data, dict) else {}


def _question(text: bytes) -> tuple[str, dict[str, object]]:
    fields = _object(text)
    sql, params = fields.get("sql"), fields.get("params")
    if not isinstance(sql, str) or not isinstance(params, dict | None):
        raise ValueError('the body must be {"sql": "SELECT ...", "params": {"name": value}}')
    return sql.strip().removesuffix(";"), cast(dict[str, object], params or {})


class _Sending(StreamingResponse):
    """A large answer. One that is not read is given up; `done` is told its size when it is sent or given up."""

    def __init__(self, answer: bytes, done: Callable[[int], None]) -> None:
        headers = {"Content-Length": str(len(answer))}
        super().__init__(_pieces(answer), media_type="application/json", headers=headers)
        self._size = len(answer)
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(SENDING_SECONDS):
                await super().__call__(scope, receive, send)
        except TimeoutError:
            _log.warning("an answer of %d bytes was not read within %.0f s", self._size, SENDING_SECONDS)
        finally:
            self._done(self._size)


async def _pieces(answer: bytes) -> AsyncIterator[memoryview]:
    """A large answer piece by piece, so that others are served meanwhile."""
    whole = memoryview(answer)
    for start in range(0, len(whole), _PIECE):
        yield whole[start : start + _PIECE]
