"""The detectors' loop in a thread of the server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from overclaim.expectations import Expectations
from overclaim_detectors.runner import Pass, Progress, follow
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")
_SECONDS = 0.5  # it was told to stop before all others


class Detector:
    """Judges what arrives, every `interval` seconds. each: gets every pass that had something to do."""

    def __init__(
        self,
        store: Store,
        interval: float,
        expected: Expectations | None,
        each: Callable[[Pass], None] | None = None,
    ) -> None:
        self._store = store
        self._each = each
        self._expected = expected
        self._interval = interval
        self._stop = threading.Event()
        self._progress = Progress()
        self._thread = threading.Thread(target=self._run, name="overclaim-detector", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def tell_to_stop(self) -> None:
        """Make no further pass."""
        self._stop.set()

    def join(self) -> None:
        """Wait for the pass under way, for a moment."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_SECONDS)

    def state(self) -> dict[str, object]:
        """How it goes: state is off, running, failing (it tries again) or dead."""
        done = self._progress
        last = done.last.isoformat(timespec="milliseconds") if done.last else None
        return {
            "state": self.word(),
            "interval": self._interval,
            "passes": done.passes,
            "last_pass": last,
            "error": done.error,
        }

    def word(self) -> str:
        """One of the words of state()."""
        if self._thread.ident is None:
            return "off"
        if not self._thread.is_alive():
            return "dead"
        return "failing" if self._progress.error else "running"

    @property
    def progress(self) -> Progress:
        """How its passes went."""
        return self._progress

    def _run(self) -> None:
        try:
            follow(self._store, self._interval, self._stop, self._each, self._progress, self._expected)
        except BaseException as error:  # nobody waits for this thread, so the log must say it
            self._progress.failed(error)
            _log.critical("the detectors ended: nothing is judged until a restart", exc_info=True)
