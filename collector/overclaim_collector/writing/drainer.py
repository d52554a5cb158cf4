"""The way through the spool into the store, tried again with growing pauses until the store takes what waits.

What comes within LINGER seconds shares an insert, unless somebody waits for it, or the spool is filling up.
"""

from __future__ import annotations

import logging
import random
import secrets
import threading
import time
from collections.abc import Callable
from typing import Final

from overclaim_collector.writing.counts import Tally
from overclaim_collector.writing.entry import Entry, Key
from overclaim_collector.writing.inserting import Inserter
from overclaim_collector.writing.moving import Moving
from overclaim_collector.writing.quarantine import Quarantine
from overclaim_collector.writing.spool import Spool

LINGER: Final = 1.0
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 10.0
_LOOK_SECONDS: Final = 0.5
_RUN_BYTES: Final = 8

_log = logging.getLogger(__name__)


class Drainer:
    """Keeps entries in the spool, and owns the thread that takes them out again.

    found: told of each entry that an earlier run left there.
    """

    def __init__(
        self, spool: Spool, inserter: Inserter, quarantine: Quarantine, tally: Tally, found: Callable[[Key], None]
    ) -> None:
        self._spool = spool
        self._tally = tally
        self._this_run = secrets.token_bytes(_RUN_BYTES)
        self._moving = Moving(spool, inserter, quarantine, tally, self._this_run, found)
        self._lock = threading.Lock()
        self._keeping = 0  # calls of keep() that are under way
        self._wake = threading.Event()  # something came
        self._hurry = threading.Event()  # somebody waits for it
        self._stopping = threading.Event()
        self._moved = threading.Condition()
        self._failing = False
        self._in_vain = 0  # the number of the record up to which somebody waited too long
        self._behind = spool.records > 0  # more waits than came just now
        self._stop_by = 0.0
        self._thread = threading.Thread(target=self._run, name="overclaim-drainer", daemon=True)
        self._full = False

    @property
    def has_room(self) -> bool:
        """Whether the last entry found room, or one would now."""
        return not self._full or not self._spool.is_filling

    def keep(self, entry: Entry) -> None:
        """Take an entry in; returns when it is on the disk.

        Raises:
            SpoolFull: there is no room for it.
            OSError: the disk does not take it.
        """
        self._change_waiting(entry, 1)
        try:
            self._spool.append(self._this_run + entry.pack())
        except BaseException:
            self._change_waiting(entry, -1)
            self._full = True
            raise
        finally:
            with self._lock:
                self._keeping -= 1
        self._full = False
        if self._spool.is_filling:
            self._hurry.set()
        self._wake.set()

    def start(self) -> None:
        """Begin."""
        self._moving.remember()
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Take out what the store takes within that time; the rest stays on the disk."""
        self._stop_by = time.monotonic() + timeout
        for event in (self._stopping, self._hurry, self._wake):
            event.set()
        with self._moved:
            self._moved.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def settle(self, timeout: float) -> bool:
        """Wait until all that is in the spool now has left it; False where that takes longer.

        Returns at once while the store takes nothing, and while what somebody else waited for in vain is still there.
        """
        target = self._spool.next

        def ended() -> bool:
            vain = self._failing or self._stopping.is_set() or not self._thread.is_alive()
            return vain or self._spool.head < self._in_vain or self._spool.head >= target

        self._hurry.set()
        with self._moved:
            if not self._moved.wait_for(ended, timeout):
                self._in_vain = target
        return self._spool.head >= target

    def _change_waiting(self, entry: Entry, sign: int) -> None:
        with self._lock:
            self._keeping += sign > 0
            self._tally.add(entry.signal, waiting=sign * entry.items)

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            if not self._spool.records:
                self._rest()
                self._wake.wait(_LOOK_SECONDS)
                self._wake.clear()
            elif self._move():
                pause = FIRST_PAUSE
            else:
                self._stopping.wait(pause * random.uniform(0.8, 1.2))
                pause = min(pause * 2, LONGEST_PAUSE)
        while self._spool.records and time.monotonic() < self._stop_by and self._move():
            pass

    def _move(self) -> bool:
        """Move the next entries on, with what comes meanwhile; False if none of them got anywhere."""
        if not self._behind and not self._stopping.is_set():
            self._hurry.wait(LINGER)
        self._hurry.clear()
        there = self._spool.next
        try:
            moved = self._moving.move()
        except Exception:  # a fault of ours: what waits must not wait for a restart
            _log.exception("what waits could not be moved into the store")
            moved = False
        self._behind = self._spool.head < there
        with self._moved:
            self._failing = not moved
            self._moved.notify_all()
        return moved

    def _rest(self) -> None:
        """The spool is empty: what still counts as waiting is lost."""
        with self._lock:
            if not self._keeping and not self._spool.records:
                self._tally.lose_waiting()
