"""Memory at rest, and its peak under load with detectors and questions at the same time."""

from __future__ import annotations

import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults.harness.agent_spans import Agents
from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.load import Load
from tests.faults.harness.served import NotServing, Served

IDLE_GOAL_MIB = 320
LIMIT_MIB = 1536
SPANS = 512
QUESTION = """
SELECT SpanName, count(), uniqExact(TraceId), groupArray(100)(SpanId) FROM otel_traces GROUP BY SpanName, SpanId
ORDER BY count() DESC LIMIT 10
"""


@dataclass(frozen=True, slots=True)
class Memory:
    """In MiB: after the start, and the highest under load; rate: spans stored a second while it lasted."""

    idle: float
    peak: float
    limit: int
    seconds: float
    rate: float

    def __str__(self) -> str:
        return (
            f"idle {self.idle:.0f} MiB (goal {IDLE_GOAL_MIB}); peak {self.peak:.0f} of {self.limit} MiB in"
            f" {self.seconds:.0f} s at {self.rate:,.0f} spans/s with detectors and questions"
        )


def memory(folder: Path, seconds: float, limit: int = LIMIT_MIB) -> Memory:
    """Send for so long, with detectors at work and people asking."""
    with Served(folder, "--detect-interval", "0.5", environment={"OVERCLAIM_MEMORY_MIB": str(limit)}) as served:
        time.sleep(1)
        idle = served.memory_mib()
        ended = threading.Event()
        asking = threading.Thread(target=_ask, args=(served, ended))
        asking.start()
        with Load(served, Bodies(), threads=4) as answers:
            time.sleep(seconds)
        ended.set()
        asking.join()
        served.settle(120)
        return Memory(idle, served.memory_mib("VmHWM"), limit, seconds, answers.spans[200] / seconds)


class Bodies:
    """Requests of agent runs; each thread that asks gets its own agents."""

    def __init__(self) -> None:
        self._mine = threading.local()

    def __call__(self) -> tuple[bytes, int]:
        """A request, and how many spans are in it."""
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        agents = getattr(self._mine, "agents", None)
        if agents is None:
            agents = self._mine.agents = Agents("load")
        return encode_spans(agents.run(SPANS)[1]).SerializeToString(), SPANS


def _ask(served: Served, ended: threading.Event) -> None:
    while not ended.wait(0.5):
        with suppress(NotServing):
            served.query(QUESTION)


def measure(options: Options) -> Measured:
    """The row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = memory(Path(folder), 10 if options.quick else options.soak_seconds)
    return Measured(str(found), found.peak <= found.limit * 1.1 and found.idle <= IDLE_GOAL_MIB)


FAULT = Fault("memory", "memory pressure", "peak <= configured limit x 1.1; idle <= 320 MiB", measure)
