"""Files of the store are damaged: whoever asks is told which rows are gone, and what helps."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import scripted_agents as agents
from stores import DATA_TABLES, receive
from tests.faults.harness.damage import PARTS, READ_ALL, cut_short, flip

from overclaim._errors import StoreError
from overclaim.doctor import Check
from overclaim_detectors import damage, sql
from overclaim_detectors.doctor import checks
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

Part = tuple[Path, str]


@pytest.fixture
def parts(tmp_path: Path) -> list[Part]:
    """Two parts of three rows each, in a store that nobody has open: directory and name."""
    store = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        migrate(store)
        for number in (1, 2):
            receive(store, agents.foreign(number))
        return [(Path(path), name) for path, name in store.query(PARTS).rows]
    finally:
        store.close()


@pytest.fixture
def reopened(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens that store again."""
    opened: list[Store] = []

    def reopen() -> Store:
        opened.append(open_store(f"chdb://{tmp_path / 'store'}"))
        return opened[-1]

    yield reopen
    for store in opened:
        store.close()


def bad(tmp_path: Path, *, check_parts: bool = False) -> list[Check]:
    """What doctor finds wrong with the parts of that store."""
    args = Namespace(endpoint=None, store=f"chdb://{tmp_path / 'store'}", check_parts=check_parts)
    return [check for check in checks(args) if check.what in ("store parts", "store files") and check.level == "bad"]


def test_a_part_put_aside_is_told(parts: list[Part], tmp_path: Path) -> None:
    """A file was cut short: the engine opens the store without these rows, and doctor names part, table and rows."""
    cut_short(parts[0][0])
    (check,) = bad(tmp_path)
    assert f"part {parts[0][1]} of otel_traces, 3 rows: broken-on-start" in check.found
    assert f"detached/broken-on-start_{parts[0][1]}" in check.cure


def test_flipped_bits_are_found_by_looking(parts: list[Part], tmp_path: Path) -> None:
    """Nothing tells before somebody reads: --check-parts does, and its cure gives the other rows back."""
    flip(parts[1][0])
    assert bad(tmp_path) == []
    (check,) = bad(tmp_path, check_parts=True)
    assert f"part {parts[1][1]} of otel_traces, 3 rows: Checksum mismatch" in check.found
    assert str(parts[1][0]) in check.cure
    shutil.move(parts[1][0], tmp_path / "moved-out")
    assert bad(tmp_path, check_parts=True) == []


def test_flipped_bits_that_a_query_met_are_told(parts: list[Part], reopened: Callable[[], Store]) -> None:
    """After a query failed on a part, it is known without looking through all of them."""
    store = reopened()
    assert damage.met(store) == []
    flip(parts[0][0])
    with pytest.raises(StoreError):
        store.query(READ_ALL)
    (found,) = damage.met(store)
    assert (found.table, found.part, found.rows) == ("otel_traces", parts[0][1], 3)


def test_a_whole_store_has_no_damage(parts: list[Part], tmp_path: Path) -> None:
    """Every part is read, and nothing is wrong with them."""
    assert parts
    args = Namespace(endpoint=None, store=f"chdb://{tmp_path / 'store'}", check_parts=True)
    said = {check.what: check.level for check in checks(args)}
    assert said["store checksums"] == said["store parts"] == said["store files"] == "ok"


def test_every_table_of_the_schema_is_checked(store: Store) -> None:
    """A table that is added later must be looked through too."""
    text = sql.load("doctor/check_parts")
    assert [name for (name,) in store.query(DATA_TABLES).rows if f"CHECK TABLE {name};" not in text] == []
