"""OTLP over HTTP: a POST to the path of a signal, in protobuf or JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.signals import SIGNALS, Signal
from overclaim_collector.receivers import answers
from overclaim_collector.receivers.bodies import body, drain
from overclaim_collector.receivers.inflate import ACCEPTED, MAX_BODY
from overclaim_collector.receivers.ingest import Ingest
from overclaim_collector.receivers.others import NOT_KEPT, Onward, not_kept, pass_on
from overclaim_collector.refusal import RETRY_AFTER_SECONDS, Reason, Refusal, unavailable

BODY_SECONDS: Final = 30.0
_Endpoint = Callable[[Request], Awaitable[Response]]
_Work = Callable[[Request, Encoding], Awaitable[bytes]]


class HttpReceiver:
    """The OTLP endpoints of the HTTP server. What is stored is passed on to `onward`, too, if there is one."""

    def __init__(self, ingest: Ingest, workers: Executor, onward: Onward | None = None) -> None:
        self._ingest = ingest
        self._workers = workers
        self._onward = onward

    def routes(self) -> list[Route]:
        """The routes to serve."""
        kept = [Route(signal.path, _endpoint(partial(self._keep, signal)), methods=["POST"]) for signal in SIGNALS]
        return [*kept, *(Route(path, _endpoint(self._pass_on), methods=["POST"]) for path in NOT_KEPT)]

    async def _keep(self, signal: Signal, request: Request, encoding: Encoding) -> bytes:
        """Store the items of a request; the body of the answer."""
        compression = _compression(request)
        with self._ingest.admission.arrival() as claim:
            taken = await body(request, MAX_BODY, BODY_SECONDS, claim)
            with claim.work():
                receive = partial(self._ingest.receive, claim, taken, encoding, compression, signal)
                receipt = await asyncio.get_running_loop().run_in_executor(self._workers, receive)
        if self._onward is not None:
            self._onward.offer(signal.path, taken, encoding.value, compression)
        return answers.written(answers.success(receipt, signal), encoding)

    async def _pass_on(self, request: Request, encoding: Encoding) -> bytes:
        """Queue a request of a signal that is not kept; the body of the answer, which has nothing to say."""
        path = request.scope["path"]
        if self._onward is None:
            raise not_kept(path)
        with self._ingest.admission.arrival() as claim:
            taken = await body(request, MAX_BODY, BODY_SECONDS, claim)
        pass_on(self._onward, path, taken, encoding.value, _compression(request))
        return b"{}" if encoding is Encoding.JSON else b""


def answer_to(request: Request, refusal: Refusal) -> Response:
    """The answer to a refused request: a google.rpc.Status in the encoding of the request."""
    encoding = _encoding(request)
    if encoding is None:
        return PlainTextResponse(f"{refusal.message}\n", refusal.reason.http_status)
    answer = _answer(refusal.reason.http_status, answers.written(answers.status(refusal), encoding), encoding)
    if refusal.reason is Reason.UNAVAILABLE:
        answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    if refusal.reason is Reason.UNSUPPORTED:
        answer.headers["Accept-Encoding"] = ", ".join(ACCEPTED)
    return answer


def _endpoint(work: _Work) -> _Endpoint:
    """What all endpoints do around their work."""

    async def endpoint(request: Request) -> Response:
        encoding = _encoding(request)
        if encoding is None:
            accepted = " or ".join(encoding.value for encoding in Encoding)
            return PlainTextResponse(f"Content-Type must be {accepted}\n", 415)
        try:
            return _answer(200, await work(request, encoding), encoding)
        except Refusal as refusal:
            await drain(request, BODY_SECONDS)
            return answer_to(request, _retryable(refusal))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it

    return endpoint


def _retryable(refusal: Refusal) -> Refusal:
    # Exporters never send again after a 408, and who came through a bad network has done nothing wrong.
    return unavailable(refusal.message) if refusal.reason is Reason.TIMEOUT else refusal


def _compression(request: Request) -> str:
    # Several mean that it was packed several times.
    return ", ".join(request.headers.getlist("content-encoding"))


def _encoding(request: Request) -> Encoding | None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return next((encoding for encoding in Encoding if encoding.value == media_type), None)


def _answer(status: int, body: bytes, encoding: Encoding) -> Response:
    # Set by hand: Starlette would add a charset that OTLP's media types do not have.
    return Response(body, status, headers={"Content-Type": encoding.value})
