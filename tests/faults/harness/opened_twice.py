"""A second process wants the embedded store while a server has it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.served import Served

_COMMAND = (sys.executable, "-m", "overclaim.cli")


def measure(_: Options) -> Measured:
    """The row of the table."""
    with tempfile.TemporaryDirectory() as folder, Served(Path(folder)) as served:
        store = ("--store", str(served.store))
        second = _run("serve", "--http-port", "0", "--grpc-port", "0", *store)
        names = f"process {served.pid}" in second.stderr and f"--store {served.http}" in second.stderr
        asks = [_run("report", "claims", *store), _run("query", "SELECT 1", *store), _run("detect", *store)]
    falls_back = sum(done.returncode == 0 for done in asks)
    said = f"second serve: exit code {second.returncode}, {'names' if names else 'does not name'} pid and cure"
    ok = second.returncode != 0 and names and falls_back == len(asks)
    return Measured(f"{said}; {falls_back} of {len(asks)} commands ask the running server instead", ok)


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_COMMAND, *arguments], capture_output=True, text=True, timeout=120)


FAULT = Fault(
    "opened_twice", "embedded store opened twice", "message names pid and cure; commands fall back to HTTP", measure
)
