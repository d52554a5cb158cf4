"""Room for a bounded number of things that run at once and may hang."""

from __future__ import annotations

import asyncio
import os
import threading
from time import monotonic
from typing import Final

_LOOK_AGAIN: Final = 0.01  # seconds; an event loop cannot be woken from any thread without knowing it


class Places:
    """So many places, each taken until a time at which its holder is due.

    Who finds none free waits for one, unless all holders are overdue: those hang, and may do so for ever.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Begin anew: the threads that hold places, and perhaps the lock, are not in a forked child."""
        self._due: list[float] = []
        self._changed = threading.Condition()

    def wait(self, due: float) -> bool:
        """Take a place, before one is due; whether there was one."""
        with self._changed:
            while not self._take(due):
                if not self._worth_waiting(due):
                    return False
                self._changed.wait(min(due, max(self._due)) - monotonic())
        return True

    async def wait_async(self, due: float) -> bool:
        """As `wait`, without holding up the event loop."""
        while True:
            with self._changed:
                if self._take(due):
                    return True
                if not self._worth_waiting(due):
                    return False
            await asyncio.sleep(_LOOK_AGAIN)

    def leave(self, due: float) -> None:
        """Give back a place that was taken until then."""
        with self._changed:
            if due in self._due:
                self._due.remove(due)
            self._changed.notify()

    def _take(self, due: float) -> bool:
        if len(self._due) >= self._most:
            return False
        self._due.append(due)
        return True

    def _worth_waiting(self, due: float) -> bool:
        return monotonic() < min(due, max(self._due))
