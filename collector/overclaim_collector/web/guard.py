"""Stands before all HTTP routes: keeps web pages of other sites away, and asks for a token, before a body is read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from overclaim_collector.receivers.bodies import drain
from overclaim_collector.receivers.http import answer_to
from overclaim_collector.refusal import Reason, Refusal
from overclaim_collector.web.auth import Role, Tokens, needed, shown_in
from overclaim_collector.web.clickhouse import errors as clickhouse
from overclaim_collector.web.origin import Origins

# How long a wrong token waits for its answer. It costs a guesser time and nobody else anything, since nothing is held
# but the guesser's own connection; when many wait at once, the rest is answered immediately.
FAILURE_SECONDS: Final = 0.2
_MOST_WAITING: Final = 100
_DRAIN_SECONDS: Final = 2.0
_CURE: Final = "the right token is needed, as `Authorization: Bearer TOKEN` or as the password"
_CURE_DECIDING: Final = (
    "deciding needs the token of --token-file, as `Authorization: Bearer TOKEN`, or the key beside the store, owner.key"
)
_ONLY_SENDS: Final = "this token only allows to send: reading needs the server's own token"


class Guard:
    """An ASGI application around another one. What it found out stands in `request.state.role`."""

    def __init__(self, app: ASGIApp, tokens: Tokens, origins: Origins) -> None:
        self._app = app
        self._tokens = tokens
        self._origins = origins
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        request = Request(scope, receive, send)
        refusal = self._origins.refusal(request) or self._refusal(request)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await (await self._refused(request, refusal))(scope, receive, send)

    def _refusal(self, request: Request) -> Refusal | None:
        role = request.state.role = self._tokens.role(_shown(request))
        wanted = needed(request.scope["path"])  # what routes go by; the URL of older Starlettes believes the Host
        if role >= wanted:
            return None
        if role is Role.SENDER:
            return Refusal(Reason.FORBIDDEN, _ONLY_SENDS)
        self._tokens.count_failure()
        return Refusal(Reason.UNAUTHENTICATED, _CURE_DECIDING if wanted is Role.DECIDER else _CURE)

    async def _refused(self, request: Request, refusal: Refusal) -> Response:
        if refusal.reason is Reason.UNAUTHENTICATED:
            await self._delay()
        if "expect" not in request.headers:  # who asks first has not sent the body yet
            await drain(request, _DRAIN_SECONDS)
        answer = _answer(request, refusal)
        if refusal.reason is Reason.UNAUTHENTICATED:
            # Both, in one header: not all clients read a second one.
            answer.headers["WWW-Authenticate"] = 'Bearer realm="overclaim", Basic realm="overclaim"'
        return answer

    async def _delay(self) -> None:
        if self._waiting >= _MOST_WAITING:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(FAILURE_SECONDS)
        finally:
            self._waiting -= 1


def _shown(request: Request) -> Sequence[str]:
    """The tokens that a request shows: X-ClickHouse-Key is how ClickHouse's clients send a password."""
    headers = request.headers
    return [*map(shown_in, headers.getlist("authorization")), *headers.getlist("x-clickhouse-key")]


def _answer(request: Request, refusal: Refusal) -> Response:
    if needed(request.scope["path"]) is Role.SENDER:
        return answer_to(request, refusal)
    if request.scope["path"] == clickhouse.PATH:
        return clickhouse.answer(clickhouse.of_refusal(refusal))
    return JSONResponse({"error": refusal.message}, refusal.reason.http_status)
