"""The store takes nothing for a while: the engine refuses each insert, as it does with too many parts."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.load import quantile
from tests.faults.harness.senders import Senders
from tests.faults.harness.served import CONSOLE, Served
from tests.faults.harness.stored import Kept, kept

# A part is enough to be too many.
DOWN = "ALTER TABLE otel_traces MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1"
UP = "ALTER TABLE otel_traces RESET SETTING parts_to_throw_insert, parts_to_delay_insert"
WARM_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class StoreDown:
    """waited: spans that waited on disk at the end of it. before, during: p99 of an acknowledgement in seconds.

    drained: seconds until all that had come in by then was in the store. pace: how many times as fast as spans came in
    they were stored meanwhile. left: whether there was a moment, too, in which nothing waited any more.
    """

    seconds: float
    waited: int
    kept: Kept
    before: float
    during: float
    drained: float
    pace: float
    left: bool

    @property
    def ok(self) -> bool:
        """Nothing dropped, drained at twice the rate it came in, acknowledged as fast as before."""
        whole = self.kept.lost == 0 and self.kept.given_up == 0
        return whole and self.waited > 0 and self.pace >= 2 and self.during <= self.before * 1.2

    def __str__(self) -> str:
        on = "" if self.left else ", new ones still go by way of the disk"
        return (
            f"{self.seconds:.0f} s: {self.kept}; {self.waited:,} waited on disk, drained in {self.drained:.1f} s at"
            f" {self.pace:.1f} times the rate of arrival{on};"
            f" ack p99 {self.before * 1000:.0f} ms before, {self.during * 1000:.0f} ms during"
        )


def store_down(folder: Path, seconds: float) -> StoreDown:
    """Refuse inserts for so long under load."""
    with Served(folder, "--no-detect", serve=CONSOLE) as served, Senders(served) as senders:
        senders.wait_acknowledged(20)
        time.sleep(WARM_SECONDS)
        served.command(DOWN)
        down, came = time.monotonic(), _received(served)
        time.sleep(seconds)
        waited, arrival = served.waiting(), (_received(served) - came) / seconds
        before_drain = _settled(served)
        served.command(UP)
        up = time.monotonic()
        drained = _drained(served, 4 * seconds + 60) - up
        pace = (_settled(served) - before_drain) / drained / arrival
        left = _left(served)
        book = senders.end()
        served.settle()
        found = kept(served, book)
    before = [took for moment, took in book.seconds if down - WARM_SECONDS < moment < down]
    during = [took for moment, took in book.seconds if down < moment < up]
    return StoreDown(seconds, waited, found, quantile(before, 0.99), quantile(during, 0.99), drained, pace, left)


def _received(served: Served) -> int:
    return int(served.health()["spans"]["received"])


def _settled(served: Served) -> int:
    """How many spans have come to an end: in the store, or refused."""
    counts = served.health()["spans"]
    return int(counts["stored"] + counts["repeated"] + counts["refused"])


def _drained(served: Served, patience: float) -> float:
    """The moment at which everything that has come in by now is in the store."""
    due, end = _received(served), time.monotonic() + patience
    while _settled(served) < due and time.monotonic() < end:
        time.sleep(0.05)
    return time.monotonic()


def _left(served: Served) -> bool:
    """Whether, for a moment within the next seconds, nothing waits on disk."""
    end = time.monotonic() + WARM_SECONDS
    while (waiting := served.waiting()) and time.monotonic() < end:
        time.sleep(0.05)
    return not waiting


def measure(options: Options) -> Measured:
    """The row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = store_down(Path(folder), 10 if options.quick else options.down_seconds)
    said = str(found) if found.waited else f"not built: nothing waits on disk; {found}"
    return Measured(said, found.ok)


FAULT = Fault(
    "store_down",
    "store takes nothing for a while",
    "0 dropped while the spool has room; drains >= 2x as fast; ack p99 +<= 20 %",
    measure,
)
