"""Keeps the process within the memory that it may take: frees what is held for nothing, then refuses new requests."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from overclaim._errors import OverclaimError
from overclaim_collector.memory import IDLE
from overclaim_detectors.store import Store

_SECONDS: Final = 0.1
_STOP_SECONDS: Final = 0.3
# From this share of the limit on, memory that allocators hold free is given back, but not all the time.
_GIVE_BACK: Final = 0.6
_PAUSE: Final = 0.5
_SHORT: Final = 0.95
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

_log = logging.getLogger(__name__)


class Pressure:
    """A thread that watches the resident memory. `short`: there is so little left that nothing new may be begun.

    limit: bytes, for a process of which the server is all; what a larger program had before comes on top.
    """

    def __init__(self, store: Store, limit: int) -> None:
        self.short = False
        self._store = store
        self._limit = limit + max(0, resident_bytes() - IDLE)
        self._next = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="overclaim-memory", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)  # the store is closed soon

    def look(self) -> None:
        """Look now, and do something about it."""
        if resident_bytes() > self._limit * _GIVE_BACK and time.monotonic() > self._next:
            self._give_back()
        short = resident_bytes() > self._limit * _SHORT
        if short and not self.short:
            _log.warning("%d MiB of memory are taken: requests are refused until there are less", self._limit >> 20)
        self.short = short

    def _give_back(self) -> None:
        try:
            self._store.give_back()
        except OverclaimError as error:  # such as a store that is being closed
            _log.debug("memory was not given back: %s", error)
        with suppress(OSError, AttributeError):  # Python's allocator, where it is glibc's
            ctypes.CDLL(None).malloc_trim(0)
        self._next = time.monotonic() + _PAUSE

    def _run(self) -> None:
        while not self._stop.wait(_SECONDS):
            self.look()


def resident_bytes() -> int:
    """The resident memory of this process; 0 where the system does not tell it."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE
    except OSError:
        return 0
