"""What the tests of the spool share: disks that fail or remember, damage, and what must come out."""

from __future__ import annotations

import random
import shutil
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overclaim_collector.writing.disk import Disk
from overclaim_collector.writing.spool import Spool

MIB = 1024 * 1024
CALLS = ("names", "size", "create", "open", "read", "write", "truncate", "sync", "sync_directory", "rename", "remove")


def everything(spool: Spool, batch: int = 1000) -> list[bytes]:
    """All records that come out, each batch given up after it was read."""
    found: list[bytes] = []
    while peeked := spool.peek(batch):
        found += [record for _, record in peeked]
        spool.done(peeked[-1][0])
    return found


def segments(directory: Path) -> list[Path]:
    """The segments of a spool, in order."""
    return sorted(directory.glob("*.segment"))


def after_a_crash(directory: Path, into: Path) -> Path:
    """The directory as a killed process leaves it."""
    shutil.rmtree(into, ignore_errors=True)
    return Path(shutil.copytree(directory, into))


class QuickDisk(Disk):
    """Waits for no disk: for tests that only end processes."""

    def sync(self, file: int) -> None:
        """Nothing to wait for."""

    def sync_directory(self, directory: Path) -> None:
        """Nothing to wait for."""


class FailingDisk(QuickDisk):
    """Counts its calls. The `at`th one fails, and with `forever` all after it; a failing write leaves half behind."""

    def __init__(self, at: int = 0, forever: bool = False) -> None:
        self.calls = 0
        self._at = at
        self._forever = forever

    @property
    def failed(self) -> bool:
        """Whether a call has failed."""
        return 0 < self._at <= self.calls

    def due(self) -> bool:
        """Count a call; whether it is one to fail."""
        self.calls += 1
        return self.calls == self._at or (self._forever and self.failed)

    def write(self, file: int, content: bytes) -> None:
        """Write, or write half of it and fail."""
        if self.due():
            super().write(file, content[: len(content) // 2])
            raise OSError(28, "No space left on device")
        super().write(file, content)


def _failing(name: str) -> Callable[..., Any]:
    real = getattr(QuickDisk, name)

    def call(self: FailingDisk, *args: Any) -> Any:
        if self.due():
            raise OSError(5, "Input/output error")
        return real(self, *args)

    return call


for _name in CALLS:
    if _name != "write":
        setattr(FailingDisk, _name, _failing(_name))


class RememberingDisk(Disk):
    """Writes down each call that changes the disk, so that a power loss can be played at any moment."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self._files: dict[int, int] = {}

    def create(self, path: Path) -> int:
        """A new file gets a number of its own, whatever its name will be."""
        file = super().create(path)
        self._files[file] = len(self.log)
        self.log.append(("create", path.name, len(self.log)))
        return file

    def write(self, file: int, content: bytes) -> None:
        """Append."""
        super().write(file, content)
        self.log.append(("write", self._files[file], content))

    def truncate(self, file: int, size: int) -> None:
        """Cut off."""
        super().truncate(file, size)
        self.log.append(("truncate", self._files[file], size))

    def sync(self, file: int) -> None:
        """Content reaches the disk."""
        self.log.append(("sync", self._files[file]))

    def sync_directory(self, directory: Path) -> None:
        """Names reach the disk."""
        self.log.append(("sync_directory",))

    def rename(self, old: Path, new: Path) -> None:
        """Another name."""
        super().rename(old, new)
        self.log.append(("rename", old.name, new.name))

    def remove(self, path: Path) -> None:
        """Gone."""
        super().remove(path)
        self.log.append(("remove", path.name))


def after_a_power_loss(log: list[tuple[Any, ...]], chance: random.Random, luck: float) -> dict[str, bytes]:
    """The files that may be there after a log of calls: what was not synced arrives with probability `luck`, or half.

    Content and names fail apart from each other, as file systems allow.
    """
    states: dict[int, list[bytes]] = {}  # of each file's content since it was synced
    names: dict[str, int] = {}
    synced_names = max((at for at, call in enumerate(log) if call[0] == "sync_directory"), default=-1)
    for at, (kind, *told) in enumerate(log):
        if kind == "create":
            states[told[1]] = [b""]
        if kind == "write":
            states[told[0]].append(states[told[0]][-1] + told[1])
        if kind == "truncate":
            states[told[0]].append(states[told[0]][-1][: told[1]])
        if kind == "sync":
            states[told[0]] = states[told[0]][-1:]
        if kind in ("create", "rename", "remove") and (at <= synced_names or chance.random() < luck):
            _name(names, kind, *told)
    return {name: _arrived(states[file], chance, luck) for name, file in names.items()}


def _name(names: dict[str, int], kind: str, name: str, other: Any = None) -> None:
    if kind == "create":
        names[name] = other
    elif (file := names.pop(name, None)) is not None and kind == "rename":
        names[other] = file


def _arrived(states: list[bytes], chance: random.Random, luck: float) -> bytes:
    """The last state of a file, the one that was synced, or a torn one between two, its rest missing or zero."""
    if chance.random() < luck:
        return states[-1]
    at = chance.randrange(len(states))
    if not at:
        return states[0]
    before, after = states[at - 1 : at + 1]
    arrived = after[: chance.randint(min(len(before), len(after)), len(after))]
    return chance.choice([arrived, arrived + bytes(len(after) - len(arrived))])


@dataclass(frozen=True)
class Record:
    """Where a record lies in its segment's file."""

    start: int
    end: int


def laid_out(content: bytes) -> list[Record]:
    """The records of a segment's bytes, as the format describes them."""
    found: list[Record] = []
    at = 0
    while at < len(content):
        _, length, _, checksum, own = struct.unpack_from(">IIQII", content, at)
        mark = int.from_bytes(content[:4])
        assert zlib.crc32(content[at : at + 20], mark) == own
        assert zlib.crc32(content[at + 24 : at + 24 + length], ~mark & 0xFFFFFFFF) == checksum
        found.append(Record(at, at + 24 + length))
        at += 24 + length
    return found


def filled(directory: Path, records: list[bytes], max_bytes: int = MIB) -> None:
    """Make a spool with records in it, closed in order."""
    spool = Spool(directory, max_bytes, sync=False)
    for record in records:
        spool.append(record)
    spool.close()


def check_flips(directory: Path, rounds: int, seed: int) -> None:
    """Flip random bytes of random segments: only the records hit are lost, and their number is right, in each round."""
    chance = random.Random(seed)
    records = [chance.randbytes(chance.randrange(200)) for _ in range(60)]
    filled(directory / "whole", records, 16 * 1024)
    files = {path.name: path.read_bytes() for path in segments(directory / "whole")}
    assert len(files) > 2
    numbered = [(name, place) for name, content in files.items() for place in laid_out(content)]
    assert len(numbered) == len(records)
    for round_ in range(rounds):
        damaged = after_a_crash(directory / "whole", directory / "damaged")
        hits = {
            (name, chance.randrange(len(files[name]))) for name in chance.choices(list(files), k=chance.randint(1, 6))
        }
        for name, at in hits:
            _flip(damaged / name, at, chance.randint(1, 255))
        lost = {
            index
            for index, (name, place) in enumerate(numbered)
            if any(name == hit and place.start <= at < place.end for hit, at in hits)
        }
        spool = Spool(damaged, 16 * 1024, sync=False)
        try:
            assert everything(spool) == [record for index, record in enumerate(records) if index not in lost], round_
            assert spool.damaged == len(lost), round_
            assert spool.records == 0
        finally:
            spool.close()


def _flip(path: Path, at: int, bits: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ bits]))
