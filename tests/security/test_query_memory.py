from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from overclaim_detectors.store import MAX_ANSWER

MEMORY_MIB = 1100  # what the servers of these tests may take
IDLE_MIB = 320


class Running:
    """`overclaim serve` in a process of its own, whose memory can be measured."""

    def __init__(self, directory: Path) -> None:
        ready = directory / "ready.json"
        arguments = ["--store", f"chdb://{directory / 'store'}", "--http-port", "0", "--grpc-port", "0", "--no-detect"]
        arguments += ["--memory-mib", str(MEMORY_MIB)]
        serve = [sys.executable, "-m", "overclaim.cli", "serve", *arguments, "--ready-file", str(ready)]
        self.process = subprocess.Popen(serve, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.url: str = json.loads(ready.read_text())["http"]

    def ask(self, sql: str) -> httpx.Response:
        """Send SQL to the query endpoint."""
        return httpx.post(f"{self.url}/api/query", json={"sql": sql}, trust_env=False, timeout=120)

    def peak_mib(self) -> float:
        """The highest memory use of the server so far."""
        return self._status("VmHWM")

    def resident_mib(self) -> float:
        """Its memory use now."""
        return self._status("VmRSS")

    def _status(self, name: str) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{name}:")[1].split()[0]) / 1024

    def stop(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait(10)


class Pulse:
    """Asks for the server's health all the time; `longest` is the longest wait for an answer, in seconds."""

    def __init__(self, url: str) -> None:
        self.longest = 0.0
        self._url = url
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat)

    def _beat(self) -> None:
        with httpx.Client(trust_env=False, timeout=60) as client:
            while not self._stop.wait(0.02):
                begun = time.monotonic()
                assert client.get(f"{self._url}/healthz").status_code == 200
                self.longest = max(self.longest, time.monotonic() - begun)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """A server in a process of its own."""
    server = Running(tmp_path)
    yield server
    server.stop()


HUNGRY = [
    "SELECT repeat('a', 1000000) FROM numbers(2000)",
    "SELECT range(100000000)",
    "SELECT groupArray(number) FROM numbers(1000000000)",
    "SELECT arrayMap(x -> toUInt8(1), range(100000000))",
    "SELECT repeat(char(0), 1000000) FROM numbers(60)",
    "SELECT number, repeat('b', 1000) FROM numbers(900000)",
    "SELECT a.number FROM numbers(3000000) AS a JOIN numbers(3000000) AS b USING number ORDER BY rand() LIMIT 1 BY 1",
]


def test_an_idle_server_is_small(running: Running) -> None:
    """It has loaded nothing that it does not need, and holds no more of the engine's library than it uses."""
    time.sleep(1)
    assert running.resident_mib() < IDLE_MIB
    loaded = Path(f"/proc/{running.process.pid}/maps").read_text()
    assert "_chdb.abi3.so" in loaded
    assert not [name for name in ("/numpy/", "/pandas/", "/pyarrow/") if name in loaded]


def test_greedy_questions_stay_within_memory_and_let_others_live(running: Running) -> None:
    """Answers and intermediate results are bounded: the server stays small and answers others within a second."""
    with Pulse(running.url) as pulse:
        answers = [running.ask(sql) for sql in HUNGRY]
        with ThreadPoolExecutor(6) as pool:
            answers += pool.map(running.ask, HUNGRY[:3] * 2)
    refused = [answer.json()["error"] for answer in answers if answer.status_code == 400]
    assert len(refused) >= len(HUNGRY) - 1
    assert all("LIMIT" in error for error in refused)
    assert running.peak_mib() < MEMORY_MIB
    assert pulse.longest < 1


def test_a_large_answer_within_the_bound_arrives_whole(running: Running) -> None:
    """Forty megabytes are an answer like any other, and the server serves others while it writes them."""
    with Pulse(running.url) as pulse:
        answer = running.ask("SELECT number, repeat('c', 1000) AS text FROM numbers(40000)")
    rows = answer.json()["rows"]
    assert (answer.status_code, len(rows), rows[-1][0]) == (200, 40_000, 39_999)
    assert len(answer.content) < MAX_ANSWER
    assert pulse.longest < 1
    assert running.peak_mib() < MEMORY_MIB


def test_stopping_does_not_wait_for_questions(running: Running) -> None:
    """A question may run for a minute; whoever stops the server waits for seconds, and the asker is told."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(running.ask, "SELECT count() FROM numbers(1000000000000)")
        time.sleep(1)
        begun = time.monotonic()
        running.process.terminate()
        assert running.process.wait(70) == 0
        assert time.monotonic() - begun < 5
        assert "cancelled" in asked.result().json()["error"]
