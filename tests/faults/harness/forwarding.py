"""Everything is passed on to another endpoint, which takes it, or hangs: the local store must not notice."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.faults.harness.agent_process import Hung, endpoint
from tests.faults.harness.fault import Fault, Measured, Options, not_built
from tests.faults.harness.load import Load, quantile
from tests.faults.harness.requests import good
from tests.faults.harness.served import Served

SPANS = 100
COUNTED = "overclaim_forward_requests_total"
COUNT = "SELECT count() FROM otel_traces"


def p99(folder: Path, seconds: float, forward: str = "") -> tuple[float, str]:
    """The p99 of acknowledgements in seconds, and what /metrics says of forwarding."""
    environment = {"OVERCLAIM_FORWARD": forward, "OVERCLAIM_FORWARD_MIB": "1"} if forward else {}
    with Served(folder, "--no-detect", environment=environment) as served:
        with Load(served, lambda: (good(SPANS), SPANS), threads=4, pause=0.02) as answers:
            time.sleep(seconds)
        said = "\n".join(line for line in served.text("/metrics").splitlines() if "forward" in line)
        return quantile(answers.seconds, 0.99), said


def passed_on(folder: Path, spans: int) -> tuple[int, int]:
    """How many spans are stored here, and at the endpoint behind."""
    (folder / "behind").mkdir()
    with (
        Served(folder / "behind", "--no-detect") as behind,
        Served(folder, "--no-detect", environment={"OVERCLAIM_FORWARD": behind.http}) as served,
    ):
        for _ in range(spans // SPANS):
            served.post(good(SPANS)).raise_for_status()
        served.settle()
        end = time.monotonic() + 20
        while behind.number(COUNT) < spans and time.monotonic() < end:
            time.sleep(0.2)
        return served.number(COUNT), behind.number(COUNT)


def measure(options: Options) -> Measured:
    """The row of the table."""
    seconds, spans = (5, 1000) if options.quick else (20, 5000)
    with tempfile.TemporaryDirectory() as folder, endpoint(Hung) as server:
        alone, _ = p99(Path(folder) / "a", seconds)
        beside, said = p99(Path(folder) / "b", seconds, f"http://127.0.0.1:{server.server_port}")
    if not said:
        return not_built("/metrics knows nothing of forwarding")
    with tempfile.TemporaryDirectory() as folder:
        here, there = passed_on(Path(folder), spans)
    told = f"{here:,} spans stored, {there:,} of them passed on; endpoint hangs: ack p99 {beside * 1000:.0f} ms"
    ok = here == there == spans and beside <= alone * 1.2 + 0.005
    return Measured(
        f"{told}, {alone * 1000:.0f} ms without forwarding; drops are counted",
        ok and COUNTED in said,
    )


FAULT = Fault("forward", "endpoint of --forward hangs", "all passed on; ack p99 +<= 20 %; drops counted", measure)
