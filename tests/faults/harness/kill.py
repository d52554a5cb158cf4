"""The collector is killed with SIGKILL at random moments while stock exporters send, and started again."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.senders import Senders
from tests.faults.harness.served import Served
from tests.faults.harness.stored import Judged, Kept, judged, kept

LONGEST_LIFE = 1.0
JUDGING_SECONDS = 900.0  # killed again and again, the detectors have never come far


@dataclass(frozen=True, slots=True)
class Killed:
    """What came of so many kills. slowest_start: seconds until the server was ready again."""

    kills: int
    kept: Kept
    judged: Judged
    balanced: bool
    slowest_start: float

    @property
    def ok(self) -> bool:
        """Nothing acknowledged is lost, nothing stands twice in a report, and the books agree."""
        whole = self.kept.lost == self.judged.missing == self.kept.strange == 0
        return whole and self.balanced and self.judged.double == self.judged.twice == 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills: {self.kept} of them; {self.judged.double} runs, calls or findings and"
            f" {self.judged.twice} of {self.judged.reported:,} reported claims twice, {self.judged.missing} missing;"
            f" {self.kept.rows_twice} raw rows twice; ready again in <= {self.slowest_start:.1f} s"
        )


def killed(folder: Path, kills: int, chance: random.Random, life: float = LONGEST_LIFE) -> Killed:
    """Kill a server so many times under load, most times when it serves, sometimes while it starts.

    life: how many seconds it is left alone at most.
    """
    with Served(folder, "--detect-interval", "0.5") as served:
        with Senders(served, threads=6, pause=0.0) as senders:
            slowest = max(_one(served, senders, chance, life) for _ in range(kills))
            book = senders.end()
        served.settle(120)
        stored = kept(served, book)
        print(f"{kills} kills: {stored}; waiting for the detectors", file=sys.stderr)
        served.settle(JUDGING_SECONDS, judged=True)
        return Killed(kills, stored, judged(served, book), book.balanced(), slowest)


def _one(served: Served, senders: Senders, chance: random.Random, life: float) -> float:
    """Kill in the middle of work: exporters come back one by one, so one in two waits for a first answer."""
    if chance.random() < 0.5:
        with suppress(TimeoutError):
            senders.wait_acknowledged(len(senders.book.acknowledged) + 1, life)
    time.sleep(chance.uniform(0.0, life))
    served.kill()
    if chance.random() < 0.1:
        served.spawn()
        time.sleep(chance.uniform(0.0, life))
        served.kill()
    return served.start()


def measure(options: Options) -> Measured:
    """The row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = killed(Path(folder), 10 if options.quick else options.kills, random.Random())
    return Measured(str(found), found.ok)


FAULT = Fault(
    "kill",
    "collector killed (SIGKILL) at random moments under load",
    "200 kills: 0 acknowledged spans lost, 0 twice in reports",
    measure,
)
