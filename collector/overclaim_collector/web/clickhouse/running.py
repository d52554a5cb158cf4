"""A question at work: the engine answers it in a thread, into a pipe that the event loop reads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from overclaim._errors import StoreError
from overclaim_detectors.asking import Asked, Outcome

PIECE: Final = 256 << 10
_LOOK_AGAIN: Final = 0.05


@dataclass(frozen=True, slots=True)
class Running:
    """answer: the bytes as they come, to the end or to an error; outcome: what it took, or the error."""

    answer: asyncio.StreamReader
    outcome: asyncio.Future[Outcome]


@asynccontextmanager
async def running(asked: Asked, workers: Executor) -> AsyncGenerator[Running]:
    """Have a question answered. What is still at work in the end is ended: nobody works for a client that is gone."""
    loop = asyncio.get_running_loop()
    out, into = os.pipe()
    answer = asyncio.StreamReader(limit=PIECE)
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(answer), os.fdopen(out, "rb", 0))
    work = workers.submit(_write, asked, into)
    outcome = asyncio.wrap_future(work)
    outcome.add_done_callback(_heard)
    try:
        yield Running(answer, outcome)
    finally:
        pipe.close()  # before all: an engine that waits for a reader of its answer would hear nothing
        if work.cancel():
            os.close(into)
        await _end(asked, work)


def _write(asked: Asked, into: int) -> Outcome:
    try:
        return asked.answer(into)
    finally:
        os.close(into)


def _heard(outcome: asyncio.Future[Outcome]) -> None:
    """Take note of an error that nobody waits for any more, which asyncio would log."""
    if not outcome.cancelled():
        outcome.exception()


async def _end(asked: Asked, work: Future[Outcome]) -> None:
    while not work.done():
        with suppress(StoreError):
            await asyncio.to_thread(asked.cancel)
        await asyncio.sleep(_LOOK_AGAIN)
