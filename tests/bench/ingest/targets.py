"""What is measured: `overclaim serve` in a process of its own, or any other OTLP endpoint."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults.harness.served import Served, cpu_seconds


@dataclass(frozen=True, slots=True)
class Target:
    """Where to send, the process to watch (None: not known), and our own server where it is one."""

    http: str
    grpc: str
    pid: int | None
    own: Served | None = None

    def cpu(self) -> float | None:
        """CPU seconds of the process so far."""
        return cpu_seconds(self.pid) if self.pid else None

    def memory(self, name: str) -> float | None:
        """VmRSS or VmHWM of the process in MiB."""
        if self.pid is None:
            return None
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.split(f"{name}:")[1].split()[0]) / 1024

    def forget_peak(self) -> None:
        """Let VmHWM begin anew, where this process may."""
        with suppress(OSError):
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def stored(self) -> int | None:
        """How many spans are in the store; None where nobody can be asked."""
        if self.own is None:
            return None
        self.own.settle(120)
        return self.own.number("SELECT count() FROM otel_traces")


@contextmanager
def own_server(*, detect: bool) -> Iterator[Target]:
    """`overclaim serve` with an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        options = () if detect else ("--no-detect",)
        with Served(Path(folder), *options) as served:
            yield Target(served.http, served.grpc, served.pid, served)


@contextmanager
def endpoint(url: str, pid: int | None) -> Iterator[Target]:
    """An OTLP endpoint that somebody else runs: the base URL for HTTP, host:port for gRPC."""
    yield Target(url, url, pid)
