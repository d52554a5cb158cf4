"""Several sender processes, and the book of what they sent and what was acknowledged."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

from tests.faults.harness.served import Served

ROOT = Path(__file__).parents[3]


@dataclass(slots=True)
class Book:
    """The traces that were sent, each of `spans` spans, and what the exporters said of them.

    seconds: (moment of the answer by the monotonic clock, how long it took) of each that was acknowledged.
    """

    spans: int
    sent: set[str] = field(default_factory=set[str])
    acknowledged: set[str] = field(default_factory=set[str])
    failed: set[str] = field(default_factory=set[str])
    seconds: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    def add(self, line: str) -> None:
        """Enter one line of a sender."""
        word, trace, *took = line.split()
        {"sent": self.sent, "ok": self.acknowledged, "failed": self.failed}[word].add(trace)
        if word == "ok":
            self.seconds.append((time.monotonic(), float(took[0])))

    def balanced(self) -> bool:
        """Whether each run that was sent was either acknowledged or given up."""
        return self.sent == self.acknowledged | self.failed and not self.acknowledged & self.failed


class Senders:
    """Stock exporters over HTTP and gRPC, in a process for each, with several threads."""

    def __init__(self, served: Served, *, threads: int = 2, spans: int = 20, pause: float = 0.02) -> None:
        self.book = Book(spans)
        options = ["--threads", str(threads), "--spans", str(spans), "--pause", str(pause)]
        self._processes = [
            _sender(served.http, "http", options),
            _sender(served.grpc, "grpc", options),
        ]
        self._readers = [threading.Thread(target=self._read, args=(process,)) for process in self._processes]

    def __enter__(self) -> Self:
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> Book:
        """Let each finish what is under way; the whole book."""
        for process in self._processes:
            _close(process.stdin)
        for reader in self._readers:
            reader.join()
        for process in self._processes:
            process.wait()
            _close(process.stdout)
        return self.book

    def wait_acknowledged(self, runs: int, seconds: float = 60) -> None:
        """Wait until so many runs were acknowledged since the start; raises TimeoutError."""
        end = time.monotonic() + seconds
        while len(self.book.acknowledged) < runs:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(self.book.acknowledged)} runs acknowledged after {seconds} s, not {runs}")
            time.sleep(0.02)

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            self.book.add(line)


def _sender(endpoint: str, protocol: str, options: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.faults.harness.sender", endpoint, protocol, *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def _close(stream: IO[str] | None) -> None:
    if stream and not stream.closed:
        stream.close()
