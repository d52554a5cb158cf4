"""Requests that share an insert, since one of 512 spans costs nearly as much as one of 8192.

A batch closes when it holds ENOUGH items, after LINGER seconds, or as soon as it has as many requests as the last one
had and no more come for a moment: a single sender, who waits for each answer, must not be slowed down for company that
never comes.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Final

from overclaim_collector.writing.entry import Entry

ENOUGH: Final = 16_384
LINGER: Final = 0.2
QUIET: Final = 0.005  # where the last batch was a single request
LULL: Final = 0.02  # where it was more
_LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Request:
    """An entry whose sender waits for an answer."""

    entry: Entry
    done: Future[None] = field(default_factory=Future[None])


class Batches:
    """A queue that gives out what came together. Many may put; one takes."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Request | None] = SimpleQueue()
        self._company = 1  # requests in the last batch

    def put(self, request: Request) -> None:
        """Add one."""
        self._queue.put(request)

    def close(self) -> None:
        """No more will be put."""
        self._queue.put(None)

    def take(self) -> list[Request] | None:
        """The next batch; empty when nothing came for a while, None when nothing will."""
        try:
            first = self._queue.get(timeout=_LOOK_SECONDS)
        except Empty:
            return []
        if first is None:
            return None
        batch, items, deadline = [first], first.entry.items, time.monotonic() + LINGER
        while items < ENOUGH and (request := self._next(deadline, len(batch))):
            batch.append(request)
            items += request.entry.items
        self._company = len(batch)
        return batch

    def _next(self, deadline: float, so_far: int) -> Request | None:
        left = max(0.0, deadline - time.monotonic())
        pause = QUIET if self._company == 1 else LULL
        try:
            request = self._queue.get(timeout=left if so_far < self._company else min(pause, left))
        except Empty:
            return None
        if request is None:
            self.close()  # the end, for the next round
        return request
