"""Moving a portion of the spool into the store: each entry is stored, given up for good, or tried again later.

Entries leave in the order in which they came, but for those that fail while others may get in: these go to the end.
What failed together is tried again together, so that an insert that is repeated has the same token; only where the
process ends before that, rows may be there twice, which readers count once.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from overclaim_collector.otlp.signals import TRACES
from overclaim_collector.writing.counts import Tally
from overclaim_collector.writing.entry import Entry, Key
from overclaim_collector.writing.inserting import Inserter, is_of_all, may_be_of_data
from overclaim_collector.writing.quarantine import Quarantine
from overclaim_collector.writing.spool import Spool

READ_BYTES: Final = 8 << 20  # of an insert: more makes it no cheaper, and takes memory
# An entry that fails so often and for so long, while others go in, is the cause itself.
STRIKES: Final = 5
STRIKE_SECONDS: Final = 600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A record of the spool. entry: None where it cannot be read, for the reason `flaw`. ours: received in this run."""

    position: int
    record: bytes
    entry: Entry | None
    ours: bool = False
    flaw: str = ""


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
    """One drain. left: positions of what has to be tried again. settled: how many entries need not be.

    open: others may get in though some failed.
    """

    left: set[int] = field(default_factory=set[int])
    settled: int = 0
    open: bool = False


class Moving:
    """What is known of the entries on their way. One thread uses it.

    this_run: how the records of this run begin. found: told of each entry that an earlier run left.
    """

    def __init__(
        self,
        spool: Spool,
        inserter: Inserter,
        quarantine: Quarantine,
        tally: Tally,
        this_run: bytes,
        found: Callable[[Key], None],
    ) -> None:
        self._spool = spool
        self._inserter = inserter
        self._quarantine = quarantine
        self._tally = tally
        self._this_run = this_run
        self._found = found
        self._troubles: dict[Key, _Trouble] = {}
        self._units: dict[Key, int] = {}  # entries of the same number failed together
        self._numbers = itertools.count(1)
        self._settled: set[int] = set()  # positions of what stands behind an entry that failed, and is done with

    def move(self) -> bool:
        """Move the next entries on; False if none of them got anywhere."""
        try:
            waiting = [self._read(position, record) for position, record in self._spool.peek(READ_BYTES)]
        except OSError as error:
            _log.warning("the spool cannot be read: %s", error)
            return False
        turn = self._turn(self._once([one for one in waiting if one.position not in self._settled]))
        stay = set[int]() if self._step_over(waiting, turn) else turn.left
        leaving = list(itertools.takewhile(lambda one: one.position not in stay, waiting))
        if leaving:
            self._spool.done(leaving[-1].position)
            self._settled.difference_update(one.position for one in leaving)
        return bool(turn.settled) or not turn.left

    def _once(self, waiting: Iterable[_Waiting]) -> list[_Waiting]:
        """Each entry once: one that was sent again, before it was known here, stands twice."""
        found: dict[Key | int, _Waiting] = {}
        for one in waiting:
            if one is not found.setdefault(one.entry.key if one.entry else one.position, one) and one.entry:
                self._settle(one, one.entry, repeated=one.entry.items)
        return list(found.values())

    def _step_over(self, waiting: Sequence[_Waiting], turn: _Round) -> bool:
        """Put what failed behind the others; False where nothing is gained by it, or the disk does not take it."""
        if not turn.left or not turn.open or self._spool.records <= len(turn.left):
            return False
        copies = [one for one in waiting if one.position in turn.left]
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
                turn.left.update(one.position for one in unit)
            else:
                self._try(unit, turn)
        return turn

    def _try(self, unit: Sequence[_Waiting], turn: _Round) -> None:
        """Insert entries, and settle each that need not be tried again."""
        places = {one.entry.key: one for one in unit if one.entry}
        before = self._inserter.stored
        outcome = self._inserter.insert(one.entry for one in unit if one.entry)
        turn.settled += len(outcome.stored)
        turn.open |= bool(outcome.stored)
        for entry in outcome.stored:
            self._settle(places[entry.key], entry, stored=entry.items)
        for entry, reason in outcome.refused:
            self._give_up(places[entry.key], entry, reason, turn)
        for together in _by_error(outcome.failed):
            self._put_together([entry for entry, _ in together])
            for entry, error in together:
                self._fail(places[entry.key], entry, error, before, turn)
        for one in unit:
            if one.entry is None:
                self._give_up_unreadable(one, turn)

    def _fail(self, one: _Waiting, entry: Entry, error: Exception, before: int, turn: _Round) -> None:
        trouble = self._troubles.setdefault(entry.key, _Trouble(before))
        others = self._inserter.stored > trouble.seen
        trouble.seen = self._inserter.stored
        turn.open |= not is_of_all(error)
        if others and may_be_of_data(error):
            trouble.strike()
            self._put_together([entry])  # by itself from now on, for what it is
        if trouble.is_cause:
            why = f"failed {trouble.strikes} times while others were stored: {error}"
            self._give_up(one, entry, why, turn)
        else:
            turn.left.add(one.position)

    def _give_up(self, one: _Waiting, entry: Entry, reason: str, turn: _Round) -> None:
        """Into quarantine. Until that is surely written it stays here."""
        turn.open = True
        if self._quarantine.keep(entry, reason):
            turn.settled += 1
            self._settle(one, entry, refused=entry.items)
        else:
            turn.left.add(one.position)

    def _give_up_unreadable(self, one: _Waiting, turn: _Round) -> None:
        turn.open = True
        if self._quarantine.keep_unreadable(TRACES, one.flaw, one.record):
            self._settled.add(one.position)
        else:
            turn.left.add(one.position)

    def _settle(self, one: _Waiting, entry: Entry, **counts: int) -> None:
        """It waits no longer; what an earlier run received counts as received in this one."""
        self._settled.add(one.position)
        self._troubles.pop(entry.key, None)
        self._units.pop(entry.key, None)
        before = {"waiting": -entry.items} if one.ours else {"received": entry.items}
        self._tally.add(entry.signal, **before, **counts)

    def _put_together(self, entries: Iterable[Entry]) -> None:
        number = next(self._numbers)
        for entry in entries:
            self._units[entry.key] = number

    def _unit(self, entry: Entry | None) -> int:
        return self._units.get(entry.key, 0) if entry else 0

    def remember(self) -> None:
        """Tell of the newest entries that an earlier run left: their senders may have heard no answer."""
        for record in self._spool.newest():
            self._read(0, record)

    def _read(self, position: int, record: bytes) -> _Waiting:
        try:
            entry = Entry.unpack(record[len(self._this_run) :])
        except ValueError as error:
            return _Waiting(position, record, None, flaw=str(error))
        ours = record.startswith(self._this_run)
        if not ours:
            self._found(entry.key)
        return _Waiting(position, record, entry, ours)


def _by_error(failed: Iterable[tuple[Entry, Exception]]) -> list[list[tuple[Entry, Exception]]]:
    """Entries that failed in one insert, together."""
    return [list(group) for _, group in itertools.groupby(failed, key=lambda one: id(one[1]))]
