from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from spools import QuickDisk, after_a_crash

from overclaim_collector.writing.spool import Spool, SpoolFull

ROOM = 2048
HEADER = 24


class SpoolAgainstAList(RuleBasedStateMachine):
    """A spool with room for few records, in many small segments, beside a list of what is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.generation = 0
        self.waiting: list[bytes] = []
        self.peeked: list[tuple[int, bytes]] = []

    @initialize(sync=st.booleans())
    def begin(self, sync: bool) -> None:
        """Open an empty spool."""
        self.sync = sync
        self.spool = Spool(self._directory, ROOM, sync, QuickDisk())

    @rule(records=st.lists(st.binary(max_size=300), min_size=1, max_size=3))
    def append(self, records: list[bytes]) -> None:
        """Records are kept together, or refused together where they would not fit."""
        before = self.spool.bytes
        try:
            self.spool.append(*records)
        except SpoolFull:
            assert before + sum(HEADER + len(record) for record in records) > ROOM
        else:
            self.waiting += records

    @rule(most=st.integers(0, 1000))
    def peek(self, most: int) -> None:
        """What comes out is what went in first, within the bytes asked for."""
        self.peeked = self.spool.peek(most)
        records = [record for _, record in self.peeked]
        assert records == self.waiting[: len(records)]
        assert bool(records) == bool(self.waiting)
        assert len(records) < 2 or sum(map(len, records)) <= most

    @precondition(lambda self: bool(self.peeked))
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        """Records that are done do not come again."""
        count = data.draw(st.integers(1, len(self.peeked)))
        self.spool.done(self.peeked[count - 1][0])
        self.peeked, self.waiting = self.peeked[count:], self.waiting[count:]

    @rule(clean=st.booleans())
    def start_again(self, clean: bool) -> None:
        """Closed, or killed and opened again from the bytes on the disk."""
        if clean:
            self.spool.close()
        killed, self.generation = self._directory, self.generation + 1
        after_a_crash(killed, self._directory)
        self.spool.close()
        shutil.rmtree(killed)
        self.spool, self.peeked = Spool(self._directory, ROOM, self.sync, QuickDisk()), []

    @invariant()
    def counts_are_exact(self) -> None:
        """As many records wait as the list has, in no more bytes than allowed, and none is damaged."""
        if hasattr(self, "spool"):
            files = sum(path.stat().st_size for path in self._directory.glob("*.segment*"))
            assert (self.spool.records, self.spool.bytes, self.spool.damaged) == (len(self.waiting), files, 0)
            assert files <= ROOM

    def teardown(self) -> None:
        """Nothing stays behind."""
        if hasattr(self, "spool"):
            self.spool.close()
        shutil.rmtree(self.root)

    @property
    def _directory(self) -> Path:
        return self.root / str(self.generation)


def test_a_spool_is_a_queue_whatever_is_done_with_it() -> None:
    """Up to 64 random actions, kills among them, on a spool and on a list: the same comes out, the counts agree."""
    slow = [HealthCheck.too_slow]
    bounds = settings(max_examples=60, stateful_step_count=64, deadline=None, suppress_health_check=slow)
    run_state_machine_as_test(SpoolAgainstAList, settings=bounds)
