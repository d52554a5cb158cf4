"""The routes: `/` for questions, `/ping` and `/replicas_status` for whoever wants to know whether anybody is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from overclaim_collector.receivers.bodies import drain
from overclaim_collector.refusal import Refusal
from overclaim_collector.web.clickhouse import asking, errors
from overclaim_collector.web.clickhouse.answering import Answer, Serving
from overclaim_detectors.asking import Asker
from overclaim_detectors.store import QueryError, Store

MAX_QUESTION: Final = 4 << 20
MAX_WAITING: Final = 64
_DRAIN_SECONDS: Final = 10.0
_TOO_MANY: Final = 202

About = Callable[[Request], Awaitable[Response]]


def routes(store: Store, workers: Executor, about: About) -> list[Route]:
    """The routes to serve on a store. One that is a ClickHouse server is asked itself, and only life is shown here."""
    asker = store.asker()
    if asker is None:
        return [Route(errors.PATH, about), *_signs_of_life()]
    return ClickHouseEndpoint(asker, workers, about).routes()


class ClickHouseEndpoint:
    """The endpoint; `about` is what a person sees who opens it in a browser, `max_body` bounds a question."""

    def __init__(self, asker: Asker, workers: Executor, about: About, max_body: int = MAX_QUESTION) -> None:
        version, timezone = asker.about()
        self._serving = Serving(asker, workers, self._room, version, timezone)
        self._about = about
        self._max_body = max_body
        self._answers = 0

    def routes(self) -> list[Route]:
        """The routes to serve."""
        return [Route(errors.PATH, self.ask, methods=["GET", "POST"]), *_signs_of_life()]

    async def ask(self, request: Request) -> Response:
        """Answer the question of a request; one without is a sign of life, or a person with a browser."""
        if request.method in ("GET", "HEAD") and "query" not in request.query_params:
            wants_text = "text/html" in request.headers.get("accept", "")
            return await (self._about if wants_text else _ok)(request)
        try:
            with self._room():
                asked = await asking.read(request, self._max_body)
            return Answer(asked, self._serving)
        except Refusal as refusal:
            await drain(request, _DRAIN_SECONDS)
            return errors.answer(errors.of_refusal(refusal), self._serving.version)
        except QueryError as error:
            return errors.answer(error, self._serving.version)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it

    @contextmanager
    def _room(self) -> Generator[None]:
        if self._answers >= MAX_WAITING:
            raise QueryError("too many questions at once: ask again", _TOO_MANY)
        self._answers += 1
        try:
            yield
        finally:
            self._answers -= 1


def _signs_of_life() -> list[Route]:
    return [Route("/ping", _ok), Route("/replicas_status", _ok)]


async def _ok(_: Request) -> Response:
    return PlainTextResponse("Ok.\n")
