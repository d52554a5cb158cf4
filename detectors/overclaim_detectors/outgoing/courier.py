"""Brings one receiver what it has not got yet, in a thread of its own: it may be slow or dead, and no pass waits."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Sequence
from typing import Final

from overclaim._errors import OverclaimError
from overclaim_detectors.outgoing.finding import Finding
from overclaim_detectors.outgoing.ledger import Ledger
from overclaim_detectors.outgoing.sink import Refused, Sink, Undelivered
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.outgoing")
REST_S: Final = 2.0  # between two rounds: findings of passes in a row go together
IDLE_S: Final = 30.0  # findings about the fleet wake nobody
FIRST_BACK_OFF_S, LONGEST_BACK_OFF_S = 1.0, 300.0
_NOTED_S: Final = 60.0
# What another process writes under an older number, or a pass that takes long, is still found: at once, or each hour.
_LOOK_BACK_MS: Final = 600_000
_FAR_S, _FAR_BACK_MS = 3600.0, 86_400_000


class Courier:
    """One receiver's. What it still has to get stands in the store, so no more than a batch is held in memory."""

    def __init__(self, store: Store, sink: Sink) -> None:
        self.sink = sink
        self.sent = 0
        self.error = ""
        self._ledger = Ledger(store, sink.name, sink.severities)
        self._position = 0
        self._noted, self._far = -math.inf, time.monotonic()
        self._stop = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"overclaim-{sink.name}", daemon=True)

    def begin(self) -> None:
        """Make it known in the store, before the passes whose findings it is to get.

        Raises:
            StoreError: the store failed.
        """
        self._position = self._ledger.begin()

    def start(self) -> None:
        """Send from now on."""
        self._thread.start()

    def wake(self) -> None:
        """There may be something new."""
        self._news.set()

    def once(self) -> int:
        """Send all there is; how many findings that were.

        Raises:
            Undelivered: it could not be sent: the next time it is tried again.
            StoreError: the store failed.
        """
        began, count = time.time_ns() // 1_000_000, 0
        after = self._since(began)
        while not self._stop.is_set() and (batch := self._ledger.pending(after, self.sink.most)):
            self._send(batch)
            count += len(batch)
            after = batch[-1].version
        if not self._stop.is_set():
            self._reached(began)
        return count

    def _since(self, now: int) -> int:
        """From which pass on to look. The position may lie in the future, where a clock was wrong."""
        far = time.monotonic() - self._far > _FAR_S
        if far:
            self._far = time.monotonic()
        return max(0, min(self._position, now) - (_FAR_BACK_MS if far else _LOOK_BACK_MS))

    def _reached(self, position: int) -> None:
        self._position = position
        if time.monotonic() - self._noted > _NOTED_S:
            self._ledger.advance(position)
            self._noted = time.monotonic()

    def tell_to_stop(self) -> None:
        """Begin nothing more."""
        self._stop.set()
        self._news.set()

    def stop(self, seconds: float) -> None:
        """End; what is under way is given up after so many seconds, and sent again another time."""
        self.tell_to_stop()
        self.sink.close(seconds)
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _send(self, batch: Sequence[Finding]) -> None:
        self._ledger.sending(batch)
        try:
            self.sink.send(batch)
        except Refused as refused:
            self._part(batch, refused)
            return
        self._ledger.sent(batch)
        self.sent += len(batch)

    def _part(self, batch: Sequence[Finding], refused: Refused) -> None:
        """Halves of what was refused; a single one that is refused is left out."""
        if len(batch) > 1:
            middle = len(batch) // 2
            self._send(batch[:middle])
            self._send(batch[middle:])
            return
        _log.error("%s does not take finding %s: %s", self.sink.label, batch[0].id, refused)
        self._ledger.sent(batch, "refused")

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = self._round(wait)
            if wait == 0.0:
                self._news.wait(IDLE_S)
                self._news.clear()
                wait = REST_S

    def _round(self, waited: float) -> float:
        """Send what there is; how long to wait before it is tried again, 0 if all is sent."""
        try:
            self.once()
            self.sink.tick()
        except Exception as error:  # whatever it is, the thread must outlive it
            return self._failed(error, waited)
        if self.error:
            _log.warning("%s takes findings again", self.sink.label)
        self.error = ""
        return 0.0

    def _failed(self, error: Exception, waited: float) -> float:
        if self._stop.is_set():
            return 0.0
        asked = error.pause if isinstance(error, Undelivered) else 0.0
        back_off = min(max(FIRST_BACK_OFF_S, waited * 2 if self.error else 0.0), LONGEST_BACK_OFF_S)
        if not self.error:
            known = isinstance(error, OverclaimError)
            _log.warning("findings do not go to %s: %s", self.sink.label, error, exc_info=None if known else error)
        self.error = str(error) or type(error).__name__
        return max(asked, back_off * random.uniform(0.8, 1.2))
