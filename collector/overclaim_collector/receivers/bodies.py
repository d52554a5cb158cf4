"""Take in the body of an HTTP request within limits of size and time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from starlette.requests import ClientDisconnect, Request

from overclaim_collector.receivers.admission import Claim
from overclaim_collector.refusal import Reason, Refusal, invalid, too_large

# A sender that sends nothing at all for so long has stalled.
STALL_SECONDS: Final = 5.0
_DRAIN_SECONDS: Final = 1.0
# int() would also take signs, underscores and the digits of other scripts.
_LENGTH: Final = re.compile("[0-9]{1,20}")


async def body(request: Request, limit: int, seconds: float, claim: Claim | None = None) -> bytes:
    """The body; `claim` takes room for it as it arrives.

    Raises:
        Refusal: TOO_LARGE over `limit` bytes, announced or sent, INVALID where what is announced is no number, TIMEOUT
            after `seconds` or where the sender stalls, UNAVAILABLE where there is no room.
        ClientDisconnect: the sender went away.
    """
    if _announced(request) > limit:
        raise too_large(f"the request is larger than {limit} bytes: send less at a time")
    taken = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in _parts(request, STALL_SECONDS):
                if claim is not None:
                    claim.take(len(part))
                taken += part
                if len(taken) > limit:
                    raise too_large(f"the request is larger than {limit} bytes: send less at a time")
    except TimeoutError:
        raise Refusal(Reason.TIMEOUT, f"the body did not arrive within {seconds:.0f} s, or stalled") from None
    return bytes(taken)


def _announced(request: Request) -> int:
    length = request.headers.get("content-length", "0")
    if not _LENGTH.fullmatch(length):
        raise invalid(f"Content-Length {length[:40]!r} is not a number of bytes")
    return int(length)


async def drain(request: Request, seconds: float) -> None:
    """Take the rest of a refused body: a sender that is cut off while it sends may never read the answer.

    One that sends nothing any more is not waited for.
    """
    with suppress(RuntimeError, ClientDisconnect, TimeoutError):  # RuntimeError: there is no rest
        async with asyncio.timeout(seconds):
            async for _ in _parts(request, _DRAIN_SECONDS):
                pass


async def _parts(request: Request, stall: float) -> AsyncIterator[bytes]:
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(stall):
                part = await anext(stream)
        except StopAsyncIteration:
            return
        yield part
