from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from overclaim._errors import StoreError
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import OwnedElsewhere, Store

HOLD = """
import sys, time
from overclaim_detectors.opening import open_store
store = open_store(sys.argv[1])
store.announce(sys.argv[2])
store.command("CREATE TABLE IF NOT EXISTS kept (A UInt8) ENGINE = MergeTree ORDER BY A")
print("open", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Another process that owns a store and says that it answers at port 9."""
    url = f"chdb://{tmp_path / 'store'}"
    command = [sys.executable, "-c", HOLD, url, "http://127.0.0.1:9"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield url, process
        process.kill()


def test_a_second_process_is_told_who_owns_the_store(holder: tuple[str, subprocess.Popen[str]]) -> None:
    """The message names process, command and cure, and the error carries the address."""
    url, process = holder
    with pytest.raises(OwnedElsewhere, match=rf"process {process.pid} .*--store http://127.0.0.1:9") as raised:
        open_store(url)
    assert raised.value.url == "http://127.0.0.1:9"


def test_reading_goes_through_the_owner(holder: tuple[str, subprocess.Popen[str]]) -> None:
    """A reader is sent to the owner's address; when nothing answers there, it is told so."""
    url, _ = holder
    reader = open_store(url, read_only=True)
    assert reader.url == "http://127.0.0.1:9"
    with pytest.raises(StoreError, match=r"no answer from http://127\.0\.0\.1:9"):
        reader.query("SELECT 1")


def test_the_store_of_a_killed_process_is_free(holder: tuple[str, subprocess.Popen[str]]) -> None:
    """A process that was killed leaves no lock behind, and what it wrote is there."""
    url, process = holder
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    store = open_store(url)
    try:
        assert store.query("SELECT count() FROM kept").rows == [(0,)]
    finally:
        store.close()


def test_one_process_has_one_store_at_a_time(store: Store, store_path: Path, tmp_path: Path) -> None:
    """The same directory may be opened twice, another one not; the message says which one is open."""
    again = open_store(f"chdb://{store_path}")
    again.close()
    again.close()
    assert store.query("SELECT 1").rows == [(1,)]
    with pytest.raises(StoreError, match="one embedded store at a time"):
        open_store(f"chdb://{tmp_path}")


def test_a_store_serves_many_threads(store: Store) -> None:
    """Threads read and write at once, each with its own client."""

    def work(number: int) -> int:
        store.insert("overclaim_watermark", ("Job", "Arrived", "Version"), [(f"job {number}", 0, number)])
        return store.query("SELECT {n:UInt32} + 1", {"n": number}).rows[0][0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(40))) == list(range(1, 41))
    assert store.query("SELECT count() FROM overclaim_watermark").rows == [(40,)]


def test_a_closed_store_says_so(store_path: Path) -> None:
    """Using a store after closing it is an error of ours, not a crash of the engine."""
    opened = open_store(f"chdb://{store_path}")
    opened.close()
    with pytest.raises(StoreError, match="closed"):
        opened.query("SELECT 1")


class _Answering(BaseHTTPRequestHandler):
    """Answers /api/query with what it was asked, or with the server's words for a refusal."""

    def do_POST(self) -> None:
        """Answer one query."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        refused = "DROP" in asked["sql"]
        answer = {"columns": ["Sql", "A"], "rows": [[asked["sql"], asked["params"].get("a")]]}
        body = {"error": "only reading is allowed"} if refused else answer
        self.send_response(400 if refused else 200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_running_server_is_a_store() -> None:
    """http:// asks the server, hands on what it refuses, and writes nothing."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        remote = open_store(f"http://127.0.0.1:{server.server_port}")
        assert remote.query("SELECT 1", {"a": 5}).dicts() == [{"Sql": "SELECT 1", "A": 5}]
        with pytest.raises(StoreError, match="only reading is allowed"):
            remote.read("DROP TABLE x")
        with pytest.raises(StoreError, match="owned by the server"):
            remote.command("DROP TABLE x")
        server.shutdown()
