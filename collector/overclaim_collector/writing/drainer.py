"""The way through the spool into the store, tried again with growing pauses until the store takes what waits.

What comes within LINGER seconds shares an insert, unless somebody waits for it, or the spool is filling up.
Entries leave in the order in which they came, but for those that fail while others may get in: these go to the end.
What failed together is tried again together, so that an insert that is repeated has the same token.
"""

from __future__ import annotations

import itertools
import logging
import random
import secrets
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from overclaim_collector.otlp.signals import TRACES
from overclaim_collector.writing.counts import Tally
from overclaim_collector.writing.entry import Entry, Key
from overclaim_collector.writing.inserting import Inserter, is_of_all, may_be_of_data
from overclaim_collector.writing.quarantine import Quarantine
from overclaim_collector.writing.spool import Spool

READ_BYTES: Final = 8 << 20  # of an insert: more makes it no cheaper, and takes memory
LINGER: Final = 0.5
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 10.0
# An entry that fails so often and for so long, while others go in, is the cause itself.
STRIKES: Final = 5
STRIKE_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 0.5
_RUN_BYTES: Final = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A record of the spool. entry: None where it cannot be read, for the reason `flaw`. ours: received in this run."""

    position: int
    record: bytes
    entry: Entry | None
    ours: bool = False
    flaw: str = ""

    @property
    def mark(self) -> Key | int:
        """What tells it from others."""
        return self.entry.key if self.entry else self.position


@dataclass(slots=True)
class _Trouble:
    """An entry that failed. seen: what the store had taken then. strikes: failures while it took others since."""

    seen: int
    strikes: int = 0
    first: float = 0.0  # when the first strike was

    def strike(self) -> None:
        """One more."""
        self.first = self.first or time.monotonic()
        self.strikes += 1

    @property
    def is_cause(self) -> bool:
        """Whether it will never get in."""
        return self.strikes >= STRIKES and time.monotonic() - self.first >= STRIKE_SECONDS


@dataclass(slots=True)
class _Round:
    """One drain. left: marks of what has to be tried again. settled: how many entries need not be.

    open: others may get in though some failed.
    """

    left: set[Key | int] = field(default_factory=set[Key | int])
    settled: int = 0
    open: bool = False


class Drainer:
    """Keeps entries in the spool, and owns the thread that takes them out again."""

    def __init__(self, spool: Spool, inserter: Inserter, quarantine: Quarantine, tally: Tally) -> None:
        self._spool = spool
        self._inserter = inserter
        self._quarantine = quarantine
        self._tally = tally
        self._this_run = secrets.token_bytes(_RUN_BYTES)
        self._lock = threading.Lock()
        self._keeping = 0  # calls of keep() that are under way
        self._troubles: dict[Key, _Trouble] = {}
        self._units: dict[Key, int] = {}  # entries of the same number failed together
        self._numbers = itertools.count(1)
        self._settled: set[Key | int] = set()  # marks of what stands behind an entry that failed, and is done with
        self._wake = threading.Event()  # something came
        self._hurry = threading.Event()  # somebody waits for it
        self._stopping = threading.Event()
        self._moved = threading.Condition()
        self._failing = False
        self._behind = False  # more waited than was taken out together
        self._stop_by = 0.0
        self._thread = threading.Thread(target=self._run, name="overclaim-drainer", daemon=True)
        self._full = False

    @property
    def has_room(self) -> bool:
        """Whether the last entry found room."""
        return not self._full

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
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Take out what the store takes within that time; the rest stays on the disk."""
        self._stop_by = time.monotonic() + timeout
        for event in (self._stopping, self._hurry, self._wake):
            event.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def settle(self, timeout: float) -> bool:
        """Wait until all that is in the spool now has left it; False where that takes longer.

        Returns at once while the store takes nothing.
        """
        target = self._spool.next
        if self._spool.head < target and self._thread.is_alive():
            self._hurry.set()
            with self._moved:
                self._moved.wait_for(lambda: self._failing or self._spool.head >= target, timeout)
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
        if not self._behind:
            self._hurry.wait(LINGER)
        self._hurry.clear()
        there = self._spool.next
        try:
            moved = self._drain()
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

    def _drain(self) -> bool:
        """Move the next entries on; False if none of them got anywhere."""
        try:
            waiting = [self._read(position, record) for position, record in self._spool.peek(READ_BYTES)]
        except OSError as error:
            _log.warning("the spool cannot be read: %s", error)
            return False
        turn = self._turn([one for one in waiting if one.mark not in self._settled])
        stay = set[Key | int]() if self._step_over(waiting, turn) else turn.left
        leaving = list(itertools.takewhile(lambda one: one.mark not in stay, waiting))
        if leaving:
            self._spool.done(leaving[-1].position)
            self._settled.difference_update(one.mark for one in leaving)
        return bool(turn.settled) or not turn.left

    def _step_over(self, waiting: Sequence[_Waiting], turn: _Round) -> bool:
        """Put what failed behind the others; False where nothing is gained by it, or the disk does not take it."""
        if not turn.open or self._spool.records <= len(turn.left):
            return False
        copies = [one for one in waiting if one.mark in turn.left]
        copies.sort(key=lambda one: self._unit(one.entry))
        try:
            self._spool.append(*(one.record for one in copies), beyond=True)
        except OSError as error:
            _log.warning("%d requests that failed hold up others in the spool: %s", len(copies), error)
            return False
        return True

    def _turn(self, waiting: Iterable[_Waiting]) -> _Round:
        """Try all, those that failed together by themselves, as long as the store can be reached."""
        turn = _Round()
        units: dict[int, list[_Waiting]] = {}
        for one in waiting:
            units.setdefault(self._unit(one.entry), []).append(one)
        for unit in units.values():
            if turn.left and not turn.open:
                turn.left.update(one.mark for one in unit)
            else:
                self._try(unit, turn)
        return turn

    def _try(self, unit: Sequence[_Waiting], turn: _Round) -> None:
        """Insert entries, and settle each that need not be tried again."""
        ours = {one.entry.key: one.ours for one in unit if one.entry}
        before = self._inserter.stored
        outcome = self._inserter.insert(one.entry for one in unit if one.entry)
        turn.settled += len(outcome.stored)
        turn.open |= bool(outcome.stored)
        for entry in outcome.stored:
            self._settle(entry, ours[entry.key], stored=entry.items)
        for entry, reason in outcome.refused:
            self._give_up(entry, ours[entry.key], reason, turn)
        for together in _by_error(outcome.failed):
            self._put_together([entry for entry, _ in together])
            for entry, error in together:
                self._fail(entry, ours[entry.key], error, before, turn)
        for one in unit:
            if one.entry is None:
                self._give_up_unreadable(one, turn)

    def _fail(self, entry: Entry, ours: bool, error: Exception, before: int, turn: _Round) -> None:
        trouble = self._troubles.setdefault(entry.key, _Trouble(before))
        others = self._inserter.stored > trouble.seen
        trouble.seen = self._inserter.stored
        turn.open |= not is_of_all(error)
        if others and may_be_of_data(error):
            trouble.strike()
            self._put_together([entry])  # by itself from now on, for what it is
        if trouble.is_cause:
            why = f"failed {trouble.strikes} times while others were stored: {error}"
            self._give_up(entry, ours, why, turn)
        else:
            turn.left.add(entry.key)

    def _give_up(self, entry: Entry, ours: bool, reason: str, turn: _Round) -> None:
        """Into quarantine. Until that is surely written it stays here."""
        turn.open = True
        if self._quarantine.keep(entry, reason):
            turn.settled += 1
            self._settle(entry, ours, refused=entry.items)
        else:
            turn.left.add(entry.key)

    def _give_up_unreadable(self, one: _Waiting, turn: _Round) -> None:
        turn.open = True
        if self._quarantine.keep_unreadable(TRACES, one.flaw, one.record):
            self._settled.add(one.mark)
        else:
            turn.left.add(one.mark)

    def _settle(self, entry: Entry, ours: bool, **counts: int) -> None:
        """It waits no longer; what an earlier run received counts as received in this one."""
        self._settled.add(entry.key)
        self._troubles.pop(entry.key, None)
        self._units.pop(entry.key, None)
        before = {"waiting": -entry.items} if ours else {"received": entry.items}
        self._tally.add(entry.signal, **before, **counts)

    def _put_together(self, entries: Iterable[Entry]) -> None:
        number = next(self._numbers)
        for entry in entries:
            self._units[entry.key] = number

    def _unit(self, entry: Entry | None) -> int:
        return self._units.get(entry.key, 0) if entry else 0

    def _read(self, position: int, record: bytes) -> _Waiting:
        try:
            entry = Entry.unpack(record[_RUN_BYTES:])
        except ValueError as error:
            return _Waiting(position, record, None, flaw=str(error))
        return _Waiting(position, record, entry, record.startswith(self._this_run))


def _by_error(failed: Iterable[tuple[Entry, Exception]]) -> list[list[tuple[Entry, Exception]]]:
    """Entries that failed in one insert, together."""
    return [list(group) for _, group in itertools.groupby(failed, key=lambda one: id(one[1]))]
