"""The detection pass: label what arrived, judge it, run the rules; once, or again and again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from overclaim._errors import OverclaimError
from overclaim.expectations import Expectations
from overclaim.outcome.tool_rules import NO_RULES
from overclaim_detectors import disk, judging
from overclaim_detectors.batched import together
from overclaim_detectors.drift.job import DriftJob
from overclaim_detectors.fleet import FleetJob
from overclaim_detectors.inbox import Batch, Inbox, Piece
from overclaim_detectors.label import label
from overclaim_detectors.normals import Learned
from overclaim_detectors.procedures import store_procedures
from overclaim_detectors.registry import Registry, registry
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")
MAX_BACK_OFF = 60.0
# A pass over a few runs costs almost as much as one over hundreds. After one that took long the next waits this many
# times as long, so that it finds more to do; but no more than so many intervals.
_REST = 9.0
_INTERVALS = 5.0


@dataclass(slots=True)
class Pass:
    """What a pass came to: traces labelled, runs judged, findings that stand in them, and what was left out and why."""

    labelled: int = 0
    judged: int = 0
    findings: int = 0
    skipped: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do."""
        return not (self.labelled or self.skipped)


class Detection:
    """Detection on one store. Remembers what it has just seen, so that passes in a row repeat no work.

    expected: what is right; where it is given, its procedures become those of the store.
    """

    def __init__(self, store: Store, rules: Registry | None = None, expected: Expectations | None = None) -> None:
        self._store = store
        self._inbox = Inbox(store)
        self._rules = rules or registry()
        self._normals = Learned(store)
        self._expected = NO_RULES if expected is None else expected.rules
        if expected is not None:
            store_procedures(store, expected.all_procedures)

    def once(self) -> Pass:
        """Work on everything that has arrived by now."""
        done = Pass(failed=dict(self._rules.broken))
        while piece := self._inbox.next():
            self._work(piece, done)
            self._inbox.done(piece)
        if done.labelled:
            self._normals.refresh()
        return done

    def _work(self, piece: Piece, done: Pass) -> None:
        done.skipped += piece.too_large
        wholes = (batch.without(disk.cut_off(self._store, batch.traces)) for batch in piece.batches)
        understood = [self._label(whole, piece.version, done) for whole in wholes if whole.traces]
        for batch in together(understood):
            asked = judging.judge(self._store, batch, piece.version)
            found = judging.find(self._store, batch, piece.version, self._rules.rules, asked)
            done.findings += found.findings
            done.failed |= found.failed

    def _label(self, batch: Batch, version: int, done: Pass) -> Batch:
        """Label a batch; what of it was understood."""
        labelled = label(self._store, batch, version, self._normals, self._expected)
        done.labelled += labelled.traces
        done.judged += labelled.runs
        done.skipped += labelled.skipped
        return batch.without(labelled.skipped)


def detect_once(store: Store, expected: Expectations | None = None) -> Pass:
    """One detection pass over everything that has arrived. expected: what is right.

    Raises:
        StoreError: the store failed; the work is repeated at the next pass.
    """
    return Detection(store, expected=expected).once()


@dataclass(slots=True)
class Progress:
    """How passes in a row go: how many were made, when the last one ended, and why the last try failed, if it did."""

    passes: int = 0
    last: datetime | None = None
    error: str = ""

    def succeeded(self) -> None:
        """A pass came to its end."""
        self.passes, self.last, self.error = self.passes + 1, datetime.now(UTC), ""

    def failed(self, error: BaseException) -> None:
        """A pass did not."""
        self.error = str(error) if isinstance(error, OverclaimError) else f"{type(error).__name__}: {error}"


def follow(
    store: Store,
    interval: float = 2.0,
    stop: threading.Event | None = None,
    each: Callable[[Pass], None] | None = None,
    progress: Progress | None = None,
    expected: Expectations | None = None,
) -> None:
    """Detect every `interval` seconds until `stop` is set; `each` gets every pass that had something to do.

    The pause is longer after a pass that took long: nine times as long as it, up to five intervals.

    A pass that fails, whatever the cause, is logged and tried again, more and more slowly, up to once a minute.
    expected: what is right.
    """
    stop, progress, wait = stop or threading.Event(), progress or Progress(), interval
    detection: Detection | None = None
    drift, fleet = DriftJob(store), FleetJob(store)
    while not stop.wait(wait):
        started = time.monotonic()
        try:
            detection = detection or Detection(store, expected=expected)
            done = detection.once()
        except Exception as error:  # the loop must outlive every error of a pass
            if stop.is_set():  # the store was closed under a pass that took too long to wait for
                return
            progress.failed(error)
            wait = max(interval, min(MAX_BACK_OFF, wait * 2))
            known = isinstance(error, OverclaimError)
            _log.error("detection failed, next try in %.0f s: %s", wait, progress.error, exc_info=not known)
            continue
        progress.succeeded()
        wait = pause(interval, time.monotonic() - started)
        drift.when_due()
        fleet.when_due()
        if each and not done.idle:
            each(done)


def pause(interval: float, took: float) -> float:
    """How long to wait, in seconds, after a pass that took so many."""
    return max(interval, min(took * _REST, interval * _INTERVALS))
