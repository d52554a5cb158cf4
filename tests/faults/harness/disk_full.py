"""The disk of the store runs full under load, and gets room again."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults.harness.disk import before, disk_of
from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.requests import good
from tests.faults.harness.senders import Senders
from tests.faults.harness.served import Served
from tests.faults.harness.stored import Kept, kept

RECOVERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class DiskFull:
    """What came of a full disk. refusals: (status, Retry-After) of the requests that were refused meanwhile."""

    kind: str
    refusals: frozenset[tuple[int, str]]
    recovered: float
    kept: Kept
    alive: bool

    @property
    def ok(self) -> bool:
        """Nothing but 503 with a time to come again, nothing acknowledged is lost, and it recovers by itself."""
        polite = bool(self.refusals) and all(status == 503 and after for status, after in self.refusals)
        return self.alive and polite and self.recovered <= RECOVERY_SECONDS and self.kept.lost == 0

    def __str__(self) -> str:
        said = ", ".join(f"{status} Retry-After {after or 'missing'}" for status, after in sorted(self.refusals))
        return f"{self.kind}: {said or 'never refused'}; {self.kept}; took spans again after {self.recovered:.1f} s"


def disk_full(folder: Path, seconds: float) -> DiskFull:
    """Fill the disk of a server under load for so long, and empty it again."""
    with Served(folder, "--no-detect", before=before(folder)) as served, Senders(served) as senders:
        disk = disk_of(served, folder)
        senders.wait_acknowledged(20)
        disk.fill()
        refusals = _refusals(served, seconds)
        disk.empty()
        recovered = _recovery(served)
        senders.wait_acknowledged(len(senders.book.acknowledged) + 20)
        book = senders.end()
        served.settle()
        own = served.number("SELECT count() FROM otel_traces WHERE ServiceName = 'faults'")
        found = kept(served, book)
        alive = served.ended() is None and own > 0
    return DiskFull(disk.kind, refusals, recovered, found, alive)


def _refusals(served: Served, seconds: float) -> frozenset[tuple[int, str]]:
    """Send until the time is over and at least one was refused: a store finds room in its last pages for a while."""
    found, begun = set[tuple[int, str]](), time.monotonic()
    while time.monotonic() < begun + seconds or (not found and time.monotonic() < begun + 10 * seconds):
        answer = served.post(good(500))
        if answer.status_code != 200:
            found.add((answer.status_code, answer.headers.get("retry-after", "")))
        time.sleep(0.05)
    return frozenset(found)


def _recovery(served: Served) -> float:
    begun = time.monotonic()
    while served.post(good(1)).status_code != 200 and time.monotonic() < begun + 6 * RECOVERY_SECONDS:
        time.sleep(0.05)
    return time.monotonic() - begun


def measure(options: Options) -> Measured:
    """The row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = disk_full(Path(folder), 3 if options.quick else 20)
    return Measured(str(found), found.ok)


FAULT = Fault(
    "disk_full",
    "disk full",
    "503 + Retry-After; 0 acknowledged lost; recovers by itself <= 10 s after space returns",
    measure,
)
