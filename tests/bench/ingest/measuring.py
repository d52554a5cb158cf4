"""One measurement: rest, load, then one sender alone."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.ingest.agent_runs import Body
from tests.bench.ingest.sending import Sent, send
from tests.bench.ingest.targets import Target
from tests.bench.ingest.transports import Grpc, Http, Transport


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent: requests, by how many senders, how fast (spans a second, 0: as fast as answered), over what."""

    bodies: Sequence[Body]
    senders: int = 16
    rate: float = 0.0
    grpc: bool = False
    as_json: bool = False
    packed: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def spans(self) -> int:
        """All spans of all requests."""
        return sum(body.spans for body in self.bodies)

    def transport(self, target: Target) -> Callable[[], Transport]:
        """What makes a sender's connection."""
        given = dict(self.headers)
        if self.grpc:
            return lambda: Grpc(target.grpc, given, packed=self.packed)
        media_type = "application/json" if self.as_json else "application/x-protobuf"
        packed = {"content-encoding": "gzip"} if self.packed else {}
        return lambda: Http(target.http, {"content-type": media_type, **packed, **given})


@dataclass(frozen=True, slots=True)
class Figures:
    """cpu: seconds of the process for all spans; idle, peak: MiB. None: not known. alone: one sender by itself."""

    spans: int
    sent: Sent
    cpu: float | None
    idle: float | None
    peak: float | None
    stored: int | None
    alone: Sent

    @property
    def cpu_per_100k(self) -> float | None:
        """CPU seconds of the process per 100,000 spans."""
        return None if self.cpu is None else self.cpu / self.spans * 100_000

    @property
    def rate(self) -> float:
        """Acknowledged spans a second."""
        return self.sent.acknowledged / self.sent.seconds


def measure(target: Target, load: Load, alone: Sequence[Body]) -> Figures:
    """Send the load, then the requests of `alone` one after another."""
    idle, before = target.memory("VmRSS"), target.cpu()
    target.forget_peak()
    sent = send(load.bodies, load.senders, load.transport(target), load.rate)
    stored, after = target.stored(), target.cpu()
    cpu = None if before is None or after is None else after - before
    peak = target.memory("VmHWM")
    return Figures(load.spans, sent, cpu, idle, peak, stored, send(alone, 1, load.transport(target)))


def python_path(bodies: Sequence[Body]) -> float:
    """CPU seconds per 100,000 spans of writing the same spans by Python alone, in a process of its own."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(pickle.dumps(list(bodies)))
        command = [sys.executable, "-m", "tests.bench.ingest.python_path", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout) / sum(body.spans for body in bodies) * 100_000
