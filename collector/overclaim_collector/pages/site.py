"""The pages as routes: reading and rendering happen in the threads for people's questions, never in the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from overclaim._errors import InputError, StoreError
from overclaim_collector.pages import drift, finding, findings, overview, rules, run, status
from overclaim_collector.pages.kept import Kept
from overclaim_collector.pages.page import Asked, Page, Reader, Sources, nothing
from overclaim_collector.pages.rendering import HEADERS, render

MAX_WAITING: Final = 64
READERS: Final[dict[str, Reader]] = {
    "/findings": findings.read,
    "/findings/{id}": finding.read,
    "/runs/{id}": run.read,
    "/drift": drift.read,
    "/rules": rules.read,
    "/rules/{id}": rules.read_one,
    "/status": status.read,
}
STATIC: Final = {"overclaim.css": "text/css", "icon.svg": "image/svg+xml"}
_DAY: Final = "max-age=86400"

_log = logging.getLogger(__name__)


class Site:
    """The pages. workers: threads that wait for the store."""

    def __init__(self, sources: Sources, workers: Executor) -> None:
        self._sources = sources
        self._overview = Kept(lambda: overview.read(sources, Asked()))
        self._workers = workers
        self._waiting = 0

    def routes(self) -> list[Route]:
        """The routes to serve, but for `/`, which is `overview`'s."""
        pages = [Route(path, self._of(reader), methods=["GET"]) for path, reader in READERS.items()]
        return [*pages, Route("/static/{name}", static, methods=["GET"])]

    async def overview(self, request: Request) -> Response:
        """The first page."""
        return await self._answer(request, lambda _, __: self._overview.get())

    def _of(self, reader: Reader) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            return await self._answer(request, reader)

        return answer

    async def _answer(self, request: Request, reader: Reader) -> Response:
        if self._waiting >= MAX_WAITING:
            return HTMLResponse("too many pages at once: ask again", 503, {**HEADERS, "Retry-After": "1"})
        asked, path = Asked(request.path_params, dict(request.query_params)), request.scope["path"]
        self._waiting += 1
        try:
            made = asyncio.get_running_loop().run_in_executor(self._workers, self._made, reader, asked, path)
            text, code = await made
        finally:
            self._waiting -= 1
        return HTMLResponse(text, code, HEADERS)

    def _made(self, reader: Reader, asked: Asked, path: str) -> tuple[str, int]:
        page = self._page(reader, asked)
        return render(page, path), page.status

    def _page(self, reader: Reader, asked: Asked) -> Page:
        try:
            return reader(self._sources, asked)
        except InputError as error:
            return nothing(str(error), "")
        except StoreError as error:
            return Page("nothing.html", "The store does not answer", {"what": str(error), "cure": "Ask again."}, 503)


async def static(request: Request) -> Response:
    """A file that pages use."""
    name = request.path_params["name"]
    if name not in STATIC:
        return Response(status_code=404)
    content = (files("overclaim_collector.pages") / "static" / name).read_bytes()
    return Response(content, media_type=STATIC[name], headers={**HEADERS, "Cache-Control": _DAY})
