from __future__ import annotations

import itertools
import random
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from spools import FailingDisk, QuickDisk, RememberingDisk, after_a_crash, after_a_power_loss, everything

from overclaim._errors import InputError
from overclaim_collector.writing.disk import Disk
from overclaim_collector.writing.spool import Spool

ROOM = 4096


@dataclass
class Story:
    """What was asked of a spool: tried, in order; acknowledged; given up."""

    tried: list[bytes] = field(default_factory=list[bytes])
    acknowledged: list[bytes] = field(default_factory=list[bytes])
    done: list[bytes] = field(default_factory=list[bytes])

    @property
    def owed(self) -> list[bytes]:
        """What must come out."""
        return [record for record in self.acknowledged if record not in self.done]


def lived(spool: Spool, story: Story) -> Iterator[None]:
    """A life of a spool: appends of one and of several, over several files, with reading in between; goes on on errors.

    Yields after each thing that was acknowledged.
    """
    number = itertools.count()
    for count in (1, 1, 3, 1, 2, 1, 1, 4, 1, 1):
        records = [b"%d:" % next(number) + b"x" * 150 for _ in range(count)]
        story.tried += records
        with suppress(OSError):
            spool.append(*records)
            story.acknowledged += records
            yield
        if count > 1:
            with suppress(OSError):
                for position, record in spool.peek(300)[:1]:
                    spool.done(position)
                    story.done.append(record)
                    yield


def opened(directory: Path, disk: Disk | None = None) -> Spool:
    """A spool over the directory, by the second try at the latest."""
    with suppress(InputError):
        return Spool(directory, ROOM, disk=disk)
    return Spool(directory, ROOM, disk=disk)


def patiently(spool: Spool) -> list[bytes]:
    """Everything that comes out, where one call to the disk may fail."""
    found: list[bytes] = []
    for _ in range(2):
        with suppress(OSError):
            while peeked := spool.peek(300):
                found += [record for _, record in peeked]
                spool.done(peeked[-1][0])
    return found


def in_order(few: Iterable[bytes], all_of_them: Iterable[bytes]) -> bool:
    """Whether `few` are among `all_of_them`, in the same order, each as often at most."""
    rest = iter(all_of_them)
    return all(record in rest for record in few)


def test_whichever_call_to_the_disk_fails_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """The first, second, third... call fails, until a life passes without: what was acknowledged comes out, once."""
    for k in itertools.count(1):
        disk, story = FailingDisk(k), Story()
        directory = tmp_path / str(k)
        spool = opened(directory, disk)
        for _ in lived(spool, story):
            pass
        again = opened(after_a_crash(directory, tmp_path / "killed"))
        found = everything(again)
        assert in_order(story.owed, found), k
        assert in_order(found, story.tried), k
        assert again.damaged == 0, k
        assert spool.records == len(story.owed), k
        assert patiently(spool) == story.owed, k
        assert spool.damaged == 0, k
        again.close()
        spool.close()
        if not disk.failed:
            assert story.acknowledged == story.tried
            break
    assert k > 60


@pytest.mark.parametrize("before", [[b"one"], []])
def test_what_was_refused_does_not_count_where_it_could_not_be_taken_back(tmp_path: Path, before: list[bytes]) -> None:
    """An fsync fails, and so does undoing what was written: the next record takes the place of what is left there."""

    class StuckDisk(QuickDisk):
        stuck = False

        def sync(self, file: int) -> None:
            if self.stuck:
                raise OSError(5, "Input/output error")

        def truncate(self, file: int, size: int) -> None:
            raise OSError(5, "Input/output error")

        def remove(self, path: Path) -> None:
            if self.stuck:
                raise OSError(5, "Input/output error")
            super().remove(path)

    disk = StuckDisk()
    spool = Spool(tmp_path / "a", ROOM, disk=disk)
    for record in before:
        spool.append(record)
    disk.stuck = True
    with pytest.raises(OSError, match="Input/output"):
        spool.append(b"refused", b"refused too")
    disk.stuck = False
    spool.append(b"two")
    assert spool.bytes == sum(path.stat().st_size for path in (tmp_path / "a").glob("*.segment"))
    again = opened(after_a_crash(tmp_path / "a", tmp_path / "b"))
    for either in (spool, again):
        assert (everything(either), either.damaged) == ([*before, b"two"], 0)
        either.close()


def test_whenever_the_disk_fails_for_good_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """From the first, second, third... call on all fail: what was acknowledged before comes out of what is left."""
    for k in itertools.count(1):
        disk, story = FailingDisk(k, forever=True), Story()
        directory = tmp_path / str(k)
        try:
            spool = Spool(directory, ROOM, disk=disk)
        except InputError:
            continue  # it could not even begin
        for _ in lived(spool, story):
            pass
        spool.close()
        again = opened(directory)
        found = everything(again)
        assert in_order(story.owed, found), k
        assert in_order(found, story.tried), k
        assert again.damaged <= 1, k  # the record that was half written
        again.append(b"later")
        assert everything(again) == [b"later"]
        again.close()
        if not disk.failed:
            break


def test_when_opening_fails_the_next_opening_finds_everything(tmp_path: Path) -> None:
    """The first, second, third... call of opening a spool with records in it fails: nothing is lost by that."""
    story = Story()
    spool = Spool(tmp_path / "whole", ROOM)
    for _ in lived(spool, story):
        pass
    killed = after_a_crash(tmp_path / "whole", tmp_path / "killed")
    spool.close()
    for k in itertools.count(1):
        disk = FailingDisk(k)
        directory = after_a_crash(killed, tmp_path / "tried")
        again = opened(directory, disk)
        found = patiently(again)
        assert found[-len(story.owed) :] == story.owed, k
        assert in_order(found, story.tried), k
        assert again.damaged == 0, k
        again.close()
        if not disk.failed:
            break


def test_the_figures_can_be_had_while_the_disk_hangs(tmp_path: Path) -> None:
    """An fsync that does not come back holds up who appends, and nobody else."""
    hanging, released = threading.Event(), threading.Event()

    class HungDisk(QuickDisk):
        def sync(self, file: int) -> None:
            hanging.set()
            assert released.wait(20)

    spool = Spool(tmp_path, ROOM, disk=HungDisk())
    appending = threading.Thread(target=spool.append, args=(b"one",))
    appending.start()
    assert hanging.wait(20)
    assert (spool.records, spool.damaged, spool.bytes) == (0, 0, 27)
    released.set()
    appending.join()
    assert spool.records == 1
    spool.close()


def test_a_killed_process_leaves_all_that_it_was_told_is_kept(tmp_path: Path) -> None:
    """Killed with signal 9 while it appends: every record that was acknowledged comes out, in order."""
    program = (
        "import sys, itertools, pathlib\n"
        "from overclaim_collector.writing.spool import Spool\n"
        "spool = Spool(pathlib.Path(sys.argv[1]), 1 << 24)\n"
        "for n in itertools.count():\n"
        "    spool.append(b'%d' % n + b'x' * 5000)\n"
        "    print(n, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) == 200:
            process.kill()
            break
    last = int((process.stdout.read().split() or ["200"])[-1])
    process.wait()
    process.stdout.close()
    spool = Spool(tmp_path, 1 << 24)
    numbers = [int(record.rstrip(b"x")) for record in everything(spool, 100_000)]
    assert numbers in ([*range(last + 1)], [*range(last + 2)])
    spool.close()


@pytest.mark.parametrize("luck", [0, 0.5, 0.9, 1])
def test_acknowledged_records_survive_a_power_loss_at_any_moment(tmp_path: Path, luck: float) -> None:
    """After each call to the disk the power goes; what was not synced is gone, torn or there: nothing owed is lost."""
    chance, disk, story = random.Random(11), RememberingDisk(), Story()
    spool = Spool(tmp_path / "lived", ROOM, disk=disk)
    owed = {0: list[bytes]()}  # after so many calls
    for _ in lived(spool, story):
        owed[len(disk.log)] = story.owed
    spool.close()
    assert len(disk.log) > 40
    for moment in range(len(disk.log) + 1):
        directory = tmp_path / str(moment)
        directory.mkdir()
        for name, content in after_a_power_loss(disk.log[:moment], chance, luck).items():
            (directory / name).write_bytes(content)
        again = opened(directory)
        found = everything(again)
        # What was given up after this moment may be missing already: the call that removed it came before the answer.
        later = next((records for calls, records in owed.items() if calls >= moment), story.owed)
        before = owed[max(calls for calls in owed if calls <= moment)]
        assert in_order([record for record in before if record in later], found), moment
        assert in_order(found, story.tried), moment
        again.close()
