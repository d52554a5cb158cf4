"""The way through the spool into the store, tried again with growing pauses until the store takes what waits.

Entries leave in the order in which they came. What is read together is inserted together, so that an insert that is
repeated after a crash has the same token.
"""

from __future__ import annotations

import logging
import random
import secrets
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from overclaim._errors import OverclaimError
from overclaim_collector.otlp.signals import TRACES
from overclaim_collector.writing.counts import Tally
from overclaim_collector.writing.entry import Entry, Key
from overclaim_collector.writing.inserting import Inserter, may_be_of_data
from overclaim_collector.writing.quarantine import Quarantine
from overclaim_collector.writing.spool import Spool

READ_BYTES: Final = 16 << 20
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 10.0
# An entry that fails so often by itself, while others go in, is the cause itself.
STRIKES: Final = 5
_LOOK_SECONDS: Final = 0.5
_RUN_BYTES: Final = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Kept:
    """An entry in the spool. ours: it was received in this run, not in an earlier one."""

    entry: Entry
    ours: bool


class Drainer:
    """Keeps entries in the spool, and owns the thread that takes them out again.

    blocked: the store takes nothing, as far as is known, so what comes goes into the spool at once. Whoever sees an
    insert fail sets it. When the store takes something from the spool it ends, though more may wait there: else it
    would never end under load.
    """

    def __init__(self, spool: Spool, inserter: Inserter, quarantine: Quarantine, tally: Tally) -> None:
        self._spool = spool
        self._inserter = inserter
        self._quarantine = quarantine
        self._tally = tally
        self._this_run = secrets.token_bytes(_RUN_BYTES)
        self._lock = threading.Lock()
        self._keeping = 0  # calls of keep() that are under way
        self._strikes = Counter[Key]()
        self._settled: set[Key] = set()  # keys of what stands behind an entry that failed, and is done with
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="overclaim-drainer", daemon=True)
        self._full = False
        self.blocked = spool.records > 0

    @property
    def has_room(self) -> bool:
        """Whether the last entry found room."""
        return not self._full

    def keep(self, entries: Sequence[Entry]) -> bool:
        """Take entries in, all or none; False where there is no room for them, or the disk does not take them."""
        self._change_waiting(entries, 1)
        try:
            self._spool.append(*(self._this_run + entry.pack() for entry in entries))
        except (OSError, OverclaimError) as error:
            _log.warning("%d requests do not go into the spool: %s", len(entries), error)
            self._change_waiting(entries, -1)
            self._full = True
            return False
        finally:
            with self._lock:
                self._keeping -= 1
        self._full = False
        self._wake.set()
        return True

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Take nothing more out; what waits stays on the disk."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _change_waiting(self, entries: Sequence[Entry], sign: int) -> None:
        with self._lock:
            self._keeping += sign > 0
            for entry in entries:
                self._tally.add(entry.signal, waiting=sign * entry.items)

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            if not self._spool.records:
                self._count_lost()
                self._wake.wait(_LOOK_SECONDS)
                self._wake.clear()
            elif self._drain():
                pause = FIRST_PAUSE
            else:
                self._stopping.wait(pause * random.uniform(0.8, 1.2))
                pause = min(pause * 2, LONGEST_PAUSE)

    def _count_lost(self) -> None:
        """The spool is empty: what still counts as waiting could not be read."""
        with self._lock:
            if not self._keeping and not self._spool.records:
                self._tally.lose_waiting()

    def _drain(self) -> bool:
        """Move the next entries on; False if one of them has to be tried again."""
        try:
            records = [(position, self._kept(record)) for position, record in self._spool.peek(READ_BYTES)]
        except OSError as error:
            _log.warning("the spool cannot be read: %s", error)
            return False
        failed = self._insert([kept for _, kept in records if kept and kept.entry.key not in self._settled])
        self.blocked = bool(failed)
        self._quarantine.write()
        passed = [index for index, (_, kept) in enumerate(records) if kept and kept.entry.key in failed]
        leaving = records[: passed[0]] if passed else records
        if leaving:
            self._spool.done(leaving[-1][0])
            self._settled.difference_update(kept.entry.key for _, kept in leaving if kept)
        return not passed

    def _insert(self, kept: Sequence[_Kept]) -> set[Key]:
        """Insert entries, and settle each that need not be tried again; the keys of those that must be."""
        ours = {one.entry.key: one.ours for one in kept}
        outcome = self._inserter.insert(one.entry for one in kept)
        for entry in outcome.stored:
            self._settle(entry, ours[entry.key], stored=entry.items)
        for entry, reason in outcome.refused:
            self._refuse(entry, ours[entry.key], reason)
        failed = set[Key]()
        for entry, error in outcome.failed:
            self._strikes[entry.key] += bool(outcome.stored) and may_be_of_data(error)
            if self._strikes[entry.key] < STRIKES:
                failed.add(entry.key)
            else:
                why = f"failed {STRIKES} times while others were stored: {error}"
                self._refuse(entry, ours[entry.key], why)
        return failed

    def _refuse(self, entry: Entry, ours: bool, reason: str) -> None:
        self._quarantine.add_whole(entry, reason)
        self._settle(entry, ours, refused=entry.items)

    def _settle(self, entry: Entry, ours: bool, **counts: int) -> None:
        """It waits no longer; what an earlier run received counts as received in this one."""
        self._settled.add(entry.key)
        del self._strikes[entry.key]
        before = {"waiting": -entry.items} if ours else {"received": entry.items}
        self._tally.add(entry.signal, **before, **counts)

    def _kept(self, record: bytes) -> _Kept | None:
        """What a record holds; None for what this version cannot read, which goes into quarantine."""
        try:
            return _Kept(Entry.unpack(record[_RUN_BYTES:]), record.startswith(self._this_run))
        except ValueError as error:
            self._quarantine.add_unreadable(TRACES, str(error), record)
            return None
