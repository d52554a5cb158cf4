"""Files of the store are damaged while nobody has it open: one is cut short, in one some bits flip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import httpx
from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.requests import good
from tests.faults.harness.served import NotServing, Served

SPANS = 1000
PARTS = "SELECT path, name FROM system.parts WHERE database = currentDatabase() AND table = 'otel_traces' AND active"
METRICS = {"overclaim_store_parts_put_aside", "overclaim_store_parts_damaged"}
READ_ALL = "SELECT sum(cityHash64(*)) FROM otel_traces"


@dataclass(frozen=True, slots=True)
class Damaged:
    """Of two damaged parts, which are named, with table, rows and cure, by whom.

    said: `overclaim doctor --check-parts` on the closed store. by_server: `overclaim doctor` on the running server
    after a query met the damage. by_metrics: what the server tells everybody who scrapes it. cured: after doing what
    doctor says, all rows of the whole part can be read.
    """

    said: int
    by_server: int
    by_metrics: bool
    cured: bool

    def __str__(self) -> str:
        metrics = "tells of both" if self.by_metrics else "not built: /metrics does not tell of them"
        cured = "its cure works" if self.cured else "its cure does not work"
        return (
            f"doctor names {self.said} of 2 damaged parts with table, rows and cure ({self.by_server} of 2 at a running"
            f" server), {cured}; the server {metrics}"
        )


def damaged(folder: Path) -> Damaged:
    """Damage two of three parts of a store, and ask around."""
    with Served(folder, "--no-detect") as served:
        for _ in range(3):
            served.post(good(SPANS)).raise_for_status()
        served.settle()
        parts = [(Path(path), name) for path, name in served.query(PARTS)]
        served.stop()
        flipped, cut = parts[0], parts[1]
        flip(flipped[0])
        cut_short(cut[0])
        names = (flipped[1], cut[1])
        said = named(doctor(str(served.store), "--check-parts"), names)
        served.start()
        _meet(served)
        by_server = named(doctor(served.http), names)
        by_metrics = _told(served)
        served.stop()
        shutil.move(flipped[0], folder / "moved-out")
        served.start()
        _, rows = served.query(READ_ALL), served.number("SELECT count() FROM otel_traces")
    return Damaged(said, by_server, by_metrics, rows == SPANS)


def flip(part: Path) -> None:
    """Flip bits in the middle of a part's data."""
    file = _data(part)
    content = bytearray(file.read_bytes())
    for place in range(len(content) // 2, len(content) // 2 + 16):
        content[place] ^= 0x5A
    file.write_bytes(content)


def cut_short(part: Path) -> None:
    """Cut the second half of a part's data off."""
    file = _data(part)
    os.truncate(file, file.stat().st_size // 2)


def _data(part: Path) -> Path:
    return max(part.glob("*.bin"), key=lambda file: file.stat().st_size)


def doctor(store: str, *options: str) -> str:
    """What `overclaim doctor` says about a store."""
    command = [sys.executable, "-m", "overclaim.cli", "doctor", "--endpoint", "http://127.0.0.1:9", "--store", store]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=120).stdout


def named(said: str, parts: tuple[str, ...]) -> int:
    """How many of these parts are called bad, with table, rows, place and something to do."""
    lines = said.splitlines()
    return sum(
        any(
            line.startswith("bad") and f"part {part} of otel_traces, {SPANS} rows" in line and f"{part}" in cure
            for line, cure in pairwise(lines)
        )
        for part in parts
    )


def _meet(served: Served) -> None:
    try:
        served.query(READ_ALL)
    except NotServing:
        return
    raise AssertionError("a part with flipped bits was read without an error")


def _told(served: Served) -> bool:
    """Whether /metrics counts parts put aside and parts that queries failed on; it may look once a minute only."""
    end = time.monotonic() + 70
    while time.monotonic() < end:
        answer = httpx.get(f"{served.http}/metrics", trust_env=False)
        if answer.status_code != 200:
            return False
        lines = [line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#")]
        if {name for name, value in lines if float(value) > 0} >= METRICS:
            return True
        time.sleep(1)
    return False


def measure(_: Options) -> Measured:
    """The row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = damaged(Path(folder))
    return Measured(str(found), found.said == found.by_server == 2 and found.cured and found.by_metrics)


FAULT = Fault(
    "damage",
    "store part broken (bits flipped; file cut short)",
    "100 % reported by doctor and metric; 0 silent",
    measure,
)
