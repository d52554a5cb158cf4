"""A store that an earlier release made is opened by this version."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.faults.harness.fault import Fault, Measured, Options
from tests.faults.harness.requests import good
from tests.faults.harness.served import NotServing, Served

from overclaim_detectors import sql
from overclaim_detectors.migrate import available, migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

RELEASES: Final[dict[str, dict[str, str]]] = tomllib.loads(
    (Path(__file__).parent / "released_schemas.toml").read_text("utf-8")
)
FUTURE = "901_of_a_later_version"
LATER = "INSERT INTO overclaim_migrations VALUES (901, '901_of_a_later_version', '', now())"
SPANS = 1000
OLD_ROWS = """
INSERT INTO otel_traces (Timestamp, TraceId, SpanId, SpanName, ServiceName, SpanAttributes, StatusCode, TraceFlags)
SELECT
    now64(9) - number, lower(hex(intDiv(number, 10))), lower(hex(number)),
    'old', 'shop', map('n', toString(number)), 'Ok', 1
FROM numbers({spans:UInt32})
"""
SUM = """
SELECT count(), sum(cityHash64(TraceId, SpanId, SpanName, ServiceName, SpanAttributes, TraceFlags)) FROM otel_traces
WHERE SpanName = 'old'
"""
OLD_TABLES = """
SELECT name, total_rows FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name NOT IN ('overclaim_migrations')
ORDER BY name
"""


@dataclass(frozen=True, slots=True)
class Upgraded:
    """From the schema of one release: whether all old rows are there unchanged and new ones are taken."""

    release: str
    kept: bool
    takes_new: bool
    to: int


def old_store(path: Path, release: str) -> list[Any]:
    """Make a store as that release had it, with data; what it holds."""
    folder = path.parent / f"schema-{release}"
    folder.mkdir()
    for name in RELEASES[release]:
        shutil.copy(sql.root() / "schema" / f"{name}.sql", folder)
    store = open_store(f"chdb://{path}")
    try:
        migrate(store, folder)
        store.command(OLD_ROWS, {"spans": SPANS})
        return held(store)
    finally:
        store.close()


def held(store: Store) -> list[Any]:
    """Rows of each table, and a sum over the spans."""
    return [store.query(SUM).rows, dict(store.query(OLD_TABLES).rows)]


def upgraded(folder: Path, release: str) -> Upgraded:
    """Make an old store in a process of its own, serve it, and compare."""
    path = folder / "store"
    code = "import sys, json; from pathlib import Path; from tests.faults.harness.upgrade import old_store"
    code += "; print(json.dumps(old_store(Path(sys.argv[1]), sys.argv[2])))"
    command = [sys.executable, "-c", code, str(path), release]
    spans, tables = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    with Served(folder, "--no-detect") as served:
        same = served.query(SUM) == spans
        rows = dict(served.query(OLD_TABLES))
        whole = all(rows.get(name) == count for name, count in tables.items())
        served.post(good(10)).raise_for_status()
        served.settle()
        new = served.number("SELECT count() FROM otel_traces WHERE SpanName != 'old'") == 10
        to = served.number("SELECT max(Number) FROM overclaim_migrations")
    return Upgraded(release, same and whole, new, to)


def refused_newer(folder: Path) -> str:
    """What a server says of a store that a later version made; empty where it takes it."""
    with Served(folder, "--no-detect") as served:
        served.stop()
        code = "import sys; from overclaim_detectors.opening import open_store; s = open_store(sys.argv[1])"
        code += "; s.command(sys.argv[2]); s.close()"
        subprocess.run([sys.executable, "-c", code, f"chdb://{served.store}", LATER], check=True)
        served.log.write_text("")
        try:
            served.start()
        except NotServing:
            return served.log.read_text()
    return ""


def measure(_: Options) -> Measured:
    """The row of the table."""
    found: list[Upgraded] = []
    for release in RELEASES:
        with tempfile.TemporaryDirectory() as folder:
            found.append(upgraded(Path(folder), release))
    with tempfile.TemporaryDirectory() as folder:
        refusal = refused_newer(Path(folder))
    clear = FUTURE in refusal and "upgrade overclaim" in refusal
    whole = sum(one.kept and one.takes_new for one in found)
    newest = max(available(sql.root() / "schema"), key=lambda one: one.number).number
    said = (
        f"{whole} of {len(found)} released schemas ({', '.join(RELEASES)}) brought to {newest:03d} by `overclaim serve`"
    )
    said += f", all rows kept; a newer store is {'' if clear else 'NOT '}refused with a clear word"
    return Measured(said, whole == len(found) and clear and all(one.to == newest for one in found))


FAULT = Fault(
    "upgrade",
    "store of an earlier or later release",
    "one command, data kept; newer refused with a clear word",
    measure,
)
