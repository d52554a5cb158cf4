"""The server is told to stop, by SIGTERM, while stock exporters send."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.senders import Senders
from tests.faults.harness.served import Served
from tests.faults.harness.stored import kept

GOAL_SECONDS = 5.0


def measure(options: Options) -> Measured:
    """The row of the table."""
    times = 2 if options.quick else 10
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder)) as served:
        with Senders(served, threads=4, pause=0.0) as senders:
            slowest, codes = 0.0, set[int | None]()
            for _ in range(times):
                senders.wait_acknowledged(len(senders.book.acknowledged) + 20)
                slowest = max(slowest, served.stop())
                codes.add(served.ended())
                served.start()
            book = senders.end()
        served.settle()
        found = kept(served, book)
    ok = slowest <= GOAL_SECONDS and codes == {0} and found.lost == 0
    codes_said = ", ".join(map(str, sorted(code or 0 for code in codes)))
    return Measured(f"{times} stops under load: {slowest:.1f} s at most, exit code {codes_said}; {found}", ok)


FAULT = Fault("shutdown", "SIGTERM under load", "<= 5 s, exit code 0, everything acknowledged stored", measure)
