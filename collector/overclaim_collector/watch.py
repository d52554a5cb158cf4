"""Looks after the store while the server runs: damaged parts, its disk, and how far the detectors are behind.

A part that is damaged on disk is put aside when the store is opened, and queries go on without its rows: nothing but
the engine's own tables tells.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Final

from overclaim._errors import OverclaimError
from overclaim_detectors import damage, disk, sql
from overclaim_detectors.damage import Damage
from overclaim_detectors.store import Store

SECONDS: Final = 60.0
_STOP_SECONDS: Final = 0.3

_log = logging.getLogger("overclaim.store")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the last look found. put_aside: parts whose rows no query sees. met: parts that queries failed on.

    lag: how long the oldest arrival waits for the detectors, in seconds; waiting: how many arrivals wait.
    """

    put_aside: tuple[Damage, ...] = ()
    met: tuple[Damage, ...] = ()
    lag: float = 0.0
    waiting: int = 0


class Watch:
    """A thread that looks at start and then every so many seconds; `seen` is what it saw.

    max_disk: how many bytes spans and log records may take; the oldest go.
    """

    def __init__(self, store: Store, seconds: float = SECONDS, max_disk: int | None = None) -> None:
        self.seen = Seen()
        self._max_disk = max_disk
        self._store = store
        self._seconds = seconds
        self._told: set[tuple[str, str]] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="overclaim-watch", daemon=True)

    def start(self) -> None:
        """Look once, then begin."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)  # the store is closed soon

    def look(self) -> None:
        """Look now. Damage goes to the log, each part once."""
        try:
            if self._max_disk is not None:
                disk.enforce(self._store, self._max_disk)
            self.seen = self._look()
        except OverclaimError as error:
            _log.warning("cannot look after the store: %s", error)
            return
        for part in (*self.seen.put_aside, *self.seen.met):
            if (part.table, part.part) not in self._told:
                self._told.add((part.table, part.part))
                _log.error("the store is damaged, rows are not seen: %s; see `overclaim doctor`", part)

    def _look(self) -> Seen:
        ((_, lag, waiting),) = self._store.query(sql.load("doctor/lag")).rows
        return Seen(tuple(damage.put_aside(self._store)), tuple(damage.met(self._store)), lag, waiting)

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            self.look()
