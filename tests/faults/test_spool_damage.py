from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from pathlib import Path

import pytest
from spools import after_a_crash, check_flips, everything, filled, laid_out, segments

from overclaim._errors import InputError
from overclaim_collector.writing import segments as reading
from overclaim_collector.writing.disk import Disk
from overclaim_collector.writing.spool import Spool, SpoolFull

MIB = 1024 * 1024
# 10,000 takes some minutes.
FLIPS = int(os.environ.get("SPOOL_FLIPS", "150"))


def test_every_prefix_of_a_segment_gives_its_whole_records(tmp_path: Path) -> None:
    """A file cut off anywhere gives the records before the cut, and counts one damaged where it cuts through one."""
    records = [bytes([n]) * (n * 7 % 40) for n in range(12)]
    spool = Spool(tmp_path / "whole", MIB, sync=False)
    spool.append(*records)
    killed = after_a_crash(tmp_path / "whole", tmp_path / "killed")
    spool.close()
    content = segments(killed)[0].read_bytes()
    ends = [0, *(place.end for place in laid_out(content))]
    for cut in range(len(content) + 1):
        directory = after_a_crash(killed, tmp_path / "cut")
        os.truncate(segments(directory)[0], cut)
        opened = Spool(directory, MIB, sync=False)
        whole = sum(0 < end <= cut for end in ends)
        assert everything(opened) == records[:whole]
        assert opened.damaged == (cut not in ends)
        opened.append(b"next")
        assert everything(opened) == [b"next"]
        opened.close()


def test_a_segment_cut_off_after_a_clean_close_is_missed_exactly(tmp_path: Path) -> None:
    """What was closed in order knows how many records there were: a newest file that was emptied is counted whole."""
    filled(tmp_path, [b"record"] * 5)
    os.truncate(segments(tmp_path)[0], 0)
    spool = Spool(tmp_path, MIB)
    assert (everything(spool), spool.damaged, spool.records) == ([], 5, 0)
    spool.close()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("rounds", "window"), [(FLIPS * 2 // 3, 256 * 1024), (FLIPS // 3, 5)])
def test_flipped_bytes_lose_only_the_records_they_hit(
    tmp_path: Path, rounds: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random bytes of headers and records changed: all others come out, in order, and the damaged ones are counted."""
    monkeypatch.setattr(reading, "_WINDOW", window)  # so that marks lie over the edges of what is read at a time
    check_flips(tmp_path, rounds, seed=time.time_ns())


def test_damaged_headers_at_the_end_are_counted_by_their_marks(tmp_path: Path) -> None:
    """After a kill, the newest three records have no header any more: three are missing, as their marks tell."""
    spool = Spool(tmp_path / "a", MIB)
    spool.append(b"one", b"two", b"three", b"four")
    killed = after_a_crash(tmp_path / "a", tmp_path / "b")
    spool.close()
    content = bytearray(segments(killed)[0].read_bytes())
    for place in laid_out(bytes(content))[1:]:
        content[place.start + 10] ^= 1
    segments(killed)[0].write_bytes(content)
    opened = Spool(killed, MIB)
    assert (everything(opened), opened.damaged) == ([b"one"], 3)
    assert len([*killed.glob("*.segment.damaged")]) == 1
    opened.close()


def test_a_file_that_repeats_itself_gives_each_record_once(tmp_path: Path) -> None:
    """The content of a segment twice in its file, as after a repair by hand: nothing comes out twice."""
    filled(tmp_path, [b"one", b"two"])
    path = segments(tmp_path)[0]
    path.write_bytes(path.read_bytes() * 2)
    spool = Spool(tmp_path, MIB)
    assert everything(spool) == [b"one", b"two"]
    spool.close()


def test_a_lost_file_is_counted_by_the_names_of_the_others(tmp_path: Path) -> None:
    """A segment that somebody removed from the middle is counted record by record."""
    records = [bytes([n]) * 100 for n in range(40)]
    filled(tmp_path, records, 8 * 1024)
    held = len(laid_out(segments(tmp_path)[1].read_bytes()))
    segments(tmp_path)[1].unlink()
    spool = Spool(tmp_path, 8 * 1024)
    first = len(laid_out(segments(tmp_path)[0].read_bytes()))
    assert everything(spool) == records[:first] + records[first + held :]
    assert spool.damaged == held
    spool.close()


@pytest.mark.parametrize("position", [None, b"", b"\0" * 20, b"\xff" * 20, b"garbage"])
def test_without_a_usable_position_records_come_again(tmp_path: Path, position: bytes | None) -> None:
    """A position that is missing, empty or scrambled: what is there comes out from its beginning, nothing is lost."""
    spool = Spool(tmp_path / "a", MIB)
    spool.append(b"one", b"two", b"three")
    spool.done(spool.peek(4)[0][0])
    killed = after_a_crash(tmp_path / "a", tmp_path / "b")
    spool.close()
    (killed / "position").unlink()
    if position is not None:
        (killed / "position").write_bytes(position)
    opened = Spool(killed, MIB)
    assert (everything(opened), opened.damaged) == ([b"one", b"two", b"three"], 0)
    opened.close()


def test_an_old_position_points_to_files_that_are_gone(tmp_path: Path) -> None:
    """The position of earlier, as after a power loss: reading begins with the first file, none counts as lost."""
    spool = Spool(tmp_path / "a", 4 * 1024)
    spool.append(b"x" * 100)
    old = after_a_crash(tmp_path / "a", tmp_path / "old")
    for n in range(20):
        spool.append(bytes([n]) * 100)
    while spool.records > 5:
        spool.done(spool.peek(1)[0][0])
    killed = after_a_crash(tmp_path / "a", tmp_path / "b")
    spool.close()
    (killed / "position").unlink()
    if (old / "position").exists():
        (old / "position").rename(killed / "position")
    opened = Spool(killed, 4 * 1024)
    assert everything(opened)[-5:] == [bytes([n]) * 100 for n in range(15, 20)]
    assert opened.damaged == 0
    opened.close()


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    """Files, folders, links and pipes that are no segments stay as they are; those named like one are set aside."""
    filled(tmp_path, [b"record"])
    kept = ("readme.txt", "1.segment", "position.bak", f"{'9' * 40}-1-00000000.segment")
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / f"{5:019d}-{5:010d}-00000000.segment").mkdir()
    (tmp_path / f"{6:019d}-{6:010d}-00000000.segment").symlink_to("readme.txt")
    os.mkfifo(tmp_path / f"{7:019d}-{7:010d}-00000000.segment")
    spool = Spool(tmp_path, MIB)
    found: list[bytes] = []
    for _ in range(20):
        try:
            while peeked := spool.peek(1):
                found += [record for _, record in peeked]
                spool.done(peeked[-1][0])
        except OSError:
            continue  # a file that cannot be read is tried three times
    assert (found, spool.records) == ([b"record"], 0)
    spool.append(b"later")
    assert everything(spool) == [b"later"]
    assert [(tmp_path / name).read_text() for name in kept] == ["mine"] * 4
    assert [path.name[18:19] for path in sorted(tmp_path.glob("*.segment.damaged"))] == [
        "0",
        "5",
        "6",
    ]  # the pipe was empty
    assert (tmp_path / "folder").is_dir()
    spool.close()


def test_a_header_that_claims_a_huge_record_takes_no_memory(tmp_path: Path) -> None:
    """A record said to have 4 GiB, with right checksums, in a file of some bytes: one damaged record, no memory."""
    mark = 7
    start = struct.pack(">IIQI", mark, 2**32 - 1, 0, 0)
    content = start + zlib.crc32(start, mark).to_bytes(4) + b"short"
    (tmp_path / f"{0:019d}-{1:010d}-{mark:08x}.segment").write_bytes(content)
    tracemalloc.start()
    spool = Spool(tmp_path, MIB)
    assert (everything(spool), spool.damaged) == ([], 1)
    assert tracemalloc.get_traced_memory()[1] < MIB
    tracemalloc.stop()
    spool.close()


def test_a_record_that_looks_like_the_spools_own_never_comes_out_by_itself(tmp_path: Path) -> None:
    """A sender puts frames into its data; the real header around them is destroyed: they are not taken for records."""
    inner = b"".join(
        start + zlib.crc32(start, mark).to_bytes(4) + b"evil"
        for mark in range(50)
        for start in [struct.pack(">IIQI", mark, 4, 1, zlib.crc32(b"evil", ~mark & 0xFFFFFFFF))]
    )
    filled(tmp_path, [b"before", inner, b"after"])
    path = segments(tmp_path)[0]
    content = bytearray(path.read_bytes())
    content[laid_out(bytes(content))[1].start + 5] ^= 1
    path.write_bytes(content)
    spool = Spool(tmp_path, MIB)
    assert (everything(spool), spool.damaged) == ([b"before", b"after"], 1)
    spool.close()


def test_a_damaged_segment_is_kept_until_its_room_is_needed(tmp_path: Path) -> None:
    """The file with damage gets another name, counts into the bytes, and goes when records need its room."""
    filled(tmp_path, [b"a" * 400, b"b" * 400])
    path = segments(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-1] + b"c")
    spool = Spool(tmp_path, 2048)
    assert everything(spool) == [b"a" * 400]
    aside = path.with_name(path.name + ".damaged")
    assert aside.exists()
    assert spool.bytes == 848
    spool.close()
    spool = Spool(tmp_path, 2048)
    assert spool.bytes == 848
    spool.append(b"d" * 1000)
    assert aside.exists()
    spool.append(b"e" * 500)
    assert not aside.exists()
    assert spool.bytes == 1548
    with pytest.raises(SpoolFull):
        spool.append(b"f" * 500)
    spool.close()


def test_opening_a_full_spool_takes_less_than_two_seconds(tmp_path: Path) -> None:
    """Only the newest segment is read, whatever waits: here 200,000 small records, one file of them scrambled."""
    spool = Spool(tmp_path / "a", 256 * MIB, sync=False)
    for n in range(50):
        spool.append(*[n.to_bytes(2) * 50] * 4000)
    killed = after_a_crash(tmp_path / "a", tmp_path / "b")
    spool.close()
    newest = segments(killed)[-1]
    newest.write_bytes(os.urandom(newest.stat().st_size))
    began = time.monotonic()
    opened = Spool(killed, 256 * MIB)
    assert time.monotonic() - began < 2
    assert opened.peek(1) == [(0, b"\0\0" * 50)]
    opened.close()


def test_only_one_process_uses_a_directory(tmp_path: Path) -> None:
    """A second one, and a second one in the same process, is refused in plain words; afterwards it may have it."""
    spool = Spool(tmp_path, MIB)
    with pytest.raises(InputError, match="in use by another process"):
        Spool(tmp_path, MIB)
    program = (
        "import sys, pathlib; from overclaim_collector.writing.spool import Spool; Spool(pathlib.Path(sys.argv[1]), 9)"
    )
    other = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=False)
    assert "in use by another process" in other.stderr
    spool.close()
    Spool(tmp_path, MIB).close()


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """A file in the directory's place is a mistake of the user's, said as such."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot use .*/file as a spool"):
        Spool(tmp_path / "file", MIB)


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may write less than it was asked to: the rest follows."""
    write = os.write
    monkeypatch.setattr("overclaim_collector.writing.disk.os.write", lambda file, rest: write(file, rest[:3]))
    spool = Spool(tmp_path, MIB)
    spool.append(b"a longer record", b"another")
    assert everything(spool) == [b"a longer record", b"another"]
    spool.close()


def test_callers_at_the_same_time_share_an_fsync(tmp_path: Path) -> None:
    """Twenty threads append fifty records each: all come out, in each thread's order, with far fewer fsyncs."""

    class SlowDisk(Disk):
        syncs = 0

        def sync(self, file: int) -> None:
            self.syncs += 1
            time.sleep(0.002)

    disk = SlowDisk()
    spool = Spool(tmp_path, 64 * 1024, disk=disk)  # so that files end in the middle of what is written together

    def send(name: int) -> None:
        for n in range(50):
            spool.append(bytes([name, n]))

    threads = [threading.Thread(target=send, args=(name,)) for name in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = everything(spool)
    assert len(found) == 1000
    assert all([record[1] for record in found if record[0] == name] == [*range(50)] for name in range(20))
    assert disk.syncs < 300
    spool.close()
