"""`overclaim serve` as a process of its own on loopback: started, killed, asked, started again on the same ports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx
from tests.support.migrated import made_store

START_SECONDS = 60.0
SERVE = ("overclaim.cli", "serve")
CONSOLE = ("tests.faults.harness.console",)
CAUGHT_UP = """
SELECT count() AS Waiting FROM overclaim_inbox
WHERE Arrived > (SELECT max(Arrived) FROM overclaim_watermark FINAL WHERE Job = 'label')
"""


class NotServing(Exception):
    """The server did not come up, or does not answer."""


class Served:
    """One server on one store. It keeps its ports over restarts; `pid` is that of the server now."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        environment: Mapping[str, str] | None = None,
        before: tuple[str, ...] = (),
        serve: tuple[str, ...] = SERVE,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.store = folder / "store"
        self.log = folder / "serve.log"
        self.http = ""
        self.grpc = ""
        self._options = options
        self._environment = {**os.environ, **(environment or {})}
        self._serve = serve
        self._before = before  # a command in front of the server's own, such as one that gives it a file system
        self._ports = ("0", "0")
        self._process: subprocess.Popen[str] | None = None
        self._client = httpx.Client(trust_env=False, timeout=60)

    @property
    def pid(self) -> int:
        """The id of the running process."""
        assert self._process
        return self._process.pid

    def spawn(self) -> None:
        """Start the process without waiting for it."""
        command = [*self._before, sys.executable, "-m", *self._serve, "--store", str(self.store)]
        command += ["--http-port", self._ports[0], "--grpc-port", self._ports[1], *self._options]
        if not (self._before or self.store.exists()):
            made_store(self.store)
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=self._environment
            )

    def start(self) -> float:
        """Start, and wait until it serves; the seconds that took."""
        begun = time.monotonic()
        self.spawn()
        self.wait_ready()
        return time.monotonic() - begun

    def wait_ready(self) -> None:
        """Wait for its first line, which has the addresses.

        Raises:
            NotServing: it ended instead; the message has the end of its log.
        """
        assert self._process
        assert self._process.stdout
        line = self._process.stdout.readline().split()
        if line[:1] != ["ready"]:
            raise NotServing(f"the server did not start: {self.log.read_text()[-2000:]}")
        said = dict(part.split("=", 1) for part in line[1:])
        self.http, self.grpc = said["http"], said["grpc"]
        self._ports = (self.http.rsplit(":", 1)[1], self.grpc.rsplit(":", 1)[1])

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        assert self._process
        self._process.kill()
        self._process.communicate()

    def stop(self, timeout: float = 60) -> float:
        """SIGTERM; the seconds until it had ended."""
        assert self._process
        begun = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=timeout)
        return time.monotonic() - begun

    def ended(self) -> int | None:
        """The exit code, None while it runs."""
        assert self._process
        return self._process.poll()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process and self._process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self.stop(10)
            self.kill()
        self._client.close()

    def post(self, body: bytes, media_type: str = "application/x-protobuf", timeout: float = 60) -> httpx.Response:
        """Send one request of spans."""
        return self._client.post(
            f"{self.http}/v1/traces", content=body, headers={"content-type": media_type}, timeout=timeout
        )

    def health(self) -> dict[str, Any]:
        """What /healthz says."""
        return dict(self._client.get(f"{self.http}/healthz").json())

    def text(self, path: str) -> str:
        """What a page says; empty where there is none."""
        answer = self._client.get(f"{self.http}{path}")
        return answer.text if answer.is_success else ""

    def query(self, sql: str, **params: object) -> list[list[Any]]:
        """The rows of a statement that reads.

        Raises:
            NotServing: the server refused it.
        """
        answer = self._client.post(f"{self.http}/api/query", json={"sql": sql, "params": params})
        if answer.status_code != 200:
            raise NotServing(answer.text)
        return list(answer.json()["rows"])

    def command(self, sql: str) -> None:
        """Run a statement on the store of a server that was started as a CONSOLE."""
        assert self._process
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{sql}\n")
        self._process.stdin.flush()
        if self._process.stdout.readline() != "done\n":
            raise NotServing(self.log.read_text()[-2000:])

    def number(self, sql: str, **params: object) -> int:
        """The one number that a statement gives."""
        return int(self.query(sql, **params)[0][0])

    def waiting(self) -> int:
        """How many spans were acknowledged and are not in the store yet."""
        return int(self.health().get("spans", {}).get("waiting", 0))

    def settle(self, seconds: float = 60, *, judged: bool = False) -> None:
        """Wait until all that was acknowledged is in the store, and, with `judged`, has been judged.

        Raises:
            NotServing: it takes longer than that.
        """
        end = time.monotonic() + seconds
        while self.waiting() or (judged and self.number(CAUGHT_UP)):
            if time.monotonic() > end:
                raise NotServing(f"spans still wait after {seconds:.0f} s: {self.health()}")
            time.sleep(0.2)

    def memory_mib(self, name: str = "VmRSS") -> float:
        """VmRSS or VmHWM of the process."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.split(f"{name}:")[1].split()[0]) / 1024

    def cpu_seconds(self) -> float:
        """CPU time of the process so far."""
        return cpu_seconds(self.pid)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
