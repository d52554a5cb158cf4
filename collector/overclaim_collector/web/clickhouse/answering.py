"""The answer to a question: headers, then the engine's bytes as they come.

The first mebibyte is held back, so that what fails early has a status of its own; what fails later ends with the error,
in the form that ClickHouse's clients look for, and with a broken connection, so that none takes a part for the whole.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from overclaim._errors import StoreError
from overclaim_collector.web.clickhouse import coding, errors
from overclaim_collector.web.clickhouse.asking import Asking
from overclaim_collector.web.clickhouse.frames import Framing
from overclaim_collector.web.clickhouse.native import NativeBlocks
from overclaim_collector.web.clickhouse.running import PIECE, running
from overclaim_detectors.asking import Asked, Asker, Outcome

# An answer that breaks off is no mistake here: it is how a client learns that it has only a part.
logging.getLogger("uvicorn.error").addFilter(
    lambda record: record.msg != "ASGI callable returned without completing response."
)
_HELD_BACK: Final = 1 << 20
# How long a client may take no piece: it holds one of few threads.
_STALL_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Serving:
    """What all answers share. room: taken by each for as long as it lasts."""

    asker: Asker
    workers: Executor
    room: Callable[[], AbstractContextManager[None]]
    version: str
    timezone: str


class Answer(Response):
    """One answer."""

    def __init__(self, asking: Asking, serving: Serving) -> None:
        super().__init__()
        self._asking = asking
        self._serving = serving
        self._tag = secrets.token_hex(8)
        self._packer = Framing() if asking.framed else coding.packer(asking.coding) if asking.coding else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, for as long as there is somebody to read it."""
        answering = asyncio.create_task(self._answer(scope, receive, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            answering.cancel()
            await asyncio.wait((answering, leaving))
        if not answering.cancelled():
            answering.result()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._serving.room():
                await self._ask(scope, receive, send)
        except StoreError as error:
            await self._refusal(error)(scope, receive, send)

    def _refusal(self, error: StoreError) -> Response:
        answer = errors.answer(error, self._serving.version)
        headers = self._headers() | {errors.CODE_HEADER: answer.headers[errors.CODE_HEADER]}
        if not self._asking.framed:
            answer.headers.update(headers)
            return answer
        # Clients that ask for blocks read errors from blocks too.
        return Response(Framing().compress(bytes(answer.body)), answer.status_code, headers)

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        serving = self._serving
        asked = await loop.run_in_executor(serving.workers, serving.asker.ask, self._asking.question)
        async with running(asked, serving.workers) as at_work:
            pieces = _pieces(at_work.answer, NativeBlocks() if asked.blocks else None)
            begun = await _beginning(pieces)
            if len(begun) < _HELD_BACK:
                outcome = await at_work.outcome
                whole = await asyncio.to_thread(self._whole, begun, asked, outcome)
                await whole(scope, receive, send)
            else:
                await self._start(asked, send)
                await self._stream(begun, pieces, at_work.outcome, send)

    def _whole(self, body: bytes, asked: Asked, outcome: Outcome) -> Response:
        headers = self._headers(asked, outcome)
        if self._packer and body:
            body = self._packed(body, last=True)
            headers |= self._coding()
        return Response(body, headers=headers)

    async def _start(self, asked: Asked, send: Send) -> None:
        headers = self._headers(asked, Outcome()) | self._coding() | {"X-ClickHouse-Exception-Tag": self._tag}
        # No length: the server then sends it in chunks.
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})

    async def _stream(
        self, begun: bytes, pieces: AsyncIterator[bytes], outcome: Awaitable[Outcome], send: Send
    ) -> None:
        try:
            await self._send(send, begun)
            async for piece in pieces:
                await self._send(send, piece)
            await outcome
        except TimeoutError:
            return  # it takes nothing any more
        except StoreError as error:
            message = errors.text(error, self._serving.version)
            await self._send(send, _exception(message, self._tag), last=True)
        else:
            rest = self._packer.flush() if self._packer else b""
            await send({"type": "http.response.body", "body": rest, "more_body": False})

    async def _send(self, send: Send, piece: bytes, *, last: bool = False) -> None:
        packed = await asyncio.to_thread(self._packed, piece, last) if self._packer else piece
        async with asyncio.timeout(_STALL_SECONDS):
            await send({"type": "http.response.body", "body": packed, "more_body": True})

    def _packed(self, piece: bytes, last: bool) -> bytes:
        packer = self._packer
        return packer.compress(piece) + (packer.flush() if last else b"") if packer else piece

    def _coding(self) -> dict[str, str]:
        return {"Content-Encoding": self._asking.coding} if self._asking.coding else {}

    def _headers(self, asked: Asked | None = None, outcome: Outcome | None = None) -> dict[str, str]:
        headers = {
            "X-ClickHouse-Server-Display-Name": "overclaim",
            "X-ClickHouse-Timezone": self._serving.timezone,
            "X-ClickHouse-Query-Id": self._asking.query_id,
            "Vary": "Accept-Encoding",
            **HARMLESS,
        }
        if outcome:
            headers["X-ClickHouse-Summary"] = json.dumps({name: str(value) for name, value in asdict(outcome).items()})
        if asked and asked.format:
            headers |= {"X-ClickHouse-Format": asked.format.name, "Content-Type": asked.format.content_type}
        return headers


# Answers hold what somebody's agents wrote: a browser may show them, but not run them.
HARMLESS: Final[Mapping[str, str]] = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


async def _pieces(answer: asyncio.StreamReader, blocks: NativeBlocks | None) -> AsyncIterator[bytes]:
    """The answer as it is sent, in pieces."""
    while piece := await answer.read(PIECE):
        yield blocks.feed(piece) if blocks else piece
    if blocks:
        yield blocks.end()


async def _beginning(pieces: AsyncIterator[bytes]) -> bytes:
    """The first mebibyte, or all there is."""
    begun = bytearray()
    async for piece in pieces:
        begun += piece
        if len(begun) >= _HELD_BACK:
            break
    return bytes(begun)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _exception(message: str, tag: str) -> bytes:
    text = message.strip().encode()
    return b"\r\n__exception__\r\n%b\r\n%b\n%d %b\r\n__exception__\r\n" % (tag.encode(), text, len(text), tag.encode())
