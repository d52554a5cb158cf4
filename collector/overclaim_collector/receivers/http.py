"""OTLP over HTTP: POST /v1/traces.

Only traces are stored. /v1/logs and /v1/metrics answer 404, as the OpenTelemetry Collector does for a signal that it
has no pipeline for: taking data in order to throw them away would be an untruth.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.receivers import answers
from overclaim_collector.receivers.bodies import body, drain
from overclaim_collector.receivers.inflate import ACCEPTED, MAX_BODY
from overclaim_collector.receivers.ingest import Ingest, Receipt
from overclaim_collector.refusal import RETRY_AFTER_SECONDS, Reason, Refusal
from overclaim_collector.web.origin import is_from_a_site

BODY_SECONDS: Final = 30.0


class HttpReceiver:
    """The OTLP endpoints of the HTTP server."""

    def __init__(self, ingest: Ingest, workers: Executor) -> None:
        self._ingest = ingest
        self._workers = workers

    def routes(self) -> list[Route]:
        """The routes to serve."""
        return [
            Route("/v1/traces", self.traces, methods=["POST"]),
            Route("/v1/logs", self.other_signal, methods=["POST"]),
            Route("/v1/metrics", self.other_signal, methods=["POST"]),
        ]

    async def traces(self, request: Request) -> Response:
        """Store the spans of a request and say so."""
        encoding = _encoding(request)
        if encoding is None:
            return _unknown_type()
        try:
            receipt = await self._received(request, encoding)
        except Refusal as refusal:
            await drain(request, BODY_SECONDS)
            return _refused(refusal, encoding)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        return _answer(200, answers.written(answers.success(receipt), encoding), encoding)

    async def other_signal(self, request: Request) -> Response:
        """Refuse logs and metrics."""
        encoding = _encoding(request)
        if encoding is None:
            return _unknown_type()
        path = request.url.path
        return _refused(
            Refusal(Reason.UNKNOWN_SIGNAL, f"{path} is not stored here: only traces, at /v1/traces"), encoding
        )

    async def _received(self, request: Request, encoding: Encoding) -> Receipt:
        _refuse_sites(request)
        compression = request.headers.get("content-encoding", "")
        with self._ingest.admission.arrival() as claim:
            taken = await body(request, MAX_BODY, BODY_SECONDS, claim)
            with claim.work():
                loop = asyncio.get_running_loop()
                receive = self._ingest.receive
                return await loop.run_in_executor(self._workers, receive, claim, taken, encoding, compression)


def _refuse_sites(request: Request) -> None:
    if is_from_a_site(request):
        raise Refusal(Reason.FORBIDDEN, "spans are not taken from web pages, nor under another machine's name")


def _encoding(request: Request) -> Encoding | None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return next((encoding for encoding in Encoding if encoding.value == media_type), None)


def _unknown_type() -> Response:
    accepted = " or ".join(encoding.value for encoding in Encoding)
    return PlainTextResponse(f"Content-Type must be {accepted}\n", 415)


def _refused(refusal: Refusal, encoding: Encoding) -> Response:
    answer = _answer(refusal.reason.http_status, answers.written(answers.status(refusal), encoding), encoding)
    if refusal.reason is Reason.UNAVAILABLE:
        answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    if refusal.reason is Reason.UNSUPPORTED:
        answer.headers["Accept-Encoding"] = ", ".join(ACCEPTED)
    return answer


def _answer(status: int, body: bytes, encoding: Encoding) -> Response:
    # Set by hand: Starlette would add a charset that OTLP's media types do not have.
    return Response(body, status, headers={"Content-Type": encoding.value})
